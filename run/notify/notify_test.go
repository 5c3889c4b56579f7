package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func message() Message {
	code := 3
	return Message{Run: "night", Text: "run night ended with \"exit code 3\"\nafter 2 h", Cause: "exit 3", Failed: true, ExitCode: &code}
}

func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got with space")
	if err := Send(t.Context(), Target{Command: []string{"sh", "-c", `cat >"$1"`, "sh", file}}, message()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil || got["run"] != "night" || got["exit_code"] != 3.0 || got["version"] != 1.0 || got["event"] != "end" {
		t.Errorf("%s, %v", data, err)
	}
}

func TestCommandFails(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"sh", "-c", "echo no such host >&2; exit 4"}, "exit status 4: no such host"},
		{[]string{"/no/such/command"}, "no such file"},
		{[]string{"sh", "-c", "yes | head -c 100000; exit 1"}, "exit status 1: y y"},
	} {
		err := Send(t.Context(), Target{Command: c.command}, message())
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2*maxOutput {
			t.Errorf("%q: %.300v, want %q", c.command, err, c.want)
		}
	}
}

// TestCommandThatHangs is given up, with what it has started.
func TestCommandThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	err := Send(ctx, Target{Command: []string{"sh", "-c", "sleep 300 & sleep 300"}}, message())
	if err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("%v", err)
	}
	if time.Since(begun) > time.Minute {
		t.Error("it was waited for")
	}
}

func TestWebhook(t *testing.T) {
	var body, kind string
	answer := "said the server"
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body, kind = string(data), r.Header.Get("Content-Type")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer server.Close()
	target := Target{Webhook: server.URL + "/hook/S3CRET?key=S3CRET"}
	if err := Send(t.Context(), target, message()); err != nil {
		t.Fatal(err)
	}
	var got Message
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Run != "night" || !strings.HasPrefix(kind, "application/json") {
		t.Errorf("%s (%s), %v", body, kind, err)
	}
	target.Body = `{"msg_type":"text","content":{"text":{{json .text}}}}`
	if err := Send(t.Context(), target, message()); err != nil {
		t.Fatal(err)
	}
	if want := `{"msg_type":"text","content":{"text":"run night ended with \"exit code 3\"\nafter 2 h"}}`; body != want {
		t.Errorf("%s, want %s", body, want)
	}
	target.Body = "{{.signal}}{{.project}}{{.memory_peak}}" // nothing of which is known here
	if err := Send(t.Context(), target, message()); err != nil {
		t.Error(err)
	}
	// What chats answer, with a status of 200.
	for text, want := range map[string]string{
		`{"errcode":0,"errmsg":"ok"}`: "",
		`{"StatusCode":0,"StatusMessage":"success","code":0,"data":{},"msg":"success"}`: "",
		`{"code":200,"msg":"ok"}`: "",
		`{"code":"x"}`:            "",
		`ok`:                      "",
		`{"errcode":93000,"errmsg":"invalid webhook url"}`:                                      "answers errcode 93000: invalid webhook url",
		`{"code":19001,"data":{},"msg":"param invalid: incoming webhook access token invalid"}`: "answers code 19001: param invalid",
	} {
		answer = text
		if err := Send(t.Context(), target, message()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	answer = "said the server"
	for _, status = range []int{http.StatusNotFound, http.StatusFound} {
		err := Send(t.Context(), target, message())
		if err == nil || !strings.Contains(err.Error(), "answers") {
			t.Errorf("status %d: %v", status, err)
		}
		if err != nil && strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("the URL is told: %v", err)
		}
	}
	server.Close()
	if err := Send(t.Context(), target, message()); err == nil || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("%v", err)
	}
	target.Body = "{{.colour}}"
	if err := Send(t.Context(), target, message()); err == nil || !strings.Contains(err.Error(), "notify.body") {
		t.Errorf("%v", err)
	}
}
