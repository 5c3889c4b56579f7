// Package notify tells somebody of the end of a run: a command, which gets a
// Message as JSON on its stdin, or a webhook, which gets it as the body of a
// POST. Both are bounded in time, and a run does not depend on them.
package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"text/template"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Limit is how long a command or a webhook may take.
const Limit = 20 * time.Second

// maxOutput is how much of what a command or a server says is kept for the
// record, in bytes.
const maxOutput = 2 << 10

// Version is the format of a Message. New fields do not change it.
const Version = 1

// Message is what is told. Times are UTC, sizes bytes. Each field is in each
// message, so that a template may name it: "" and 0 where there is nothing to say.
type Message struct {
	Version int      `json:"version"`
	Event   string   `json:"event"` // "end"
	Text    string   `json:"text"`  // one sentence for people
	Run     string   `json:"run"`   // the name
	ID      string   `json:"id"`
	Host    string   `json:"host"`
	User    string   `json:"user"`
	Project string   `json:"project"`
	Profile string   `json:"profile"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Cause   string   `json:"cause"` // as crun ps shows it: done, exit 3, out of memory, time limit, SIGKILL, lost
	// Code names the verdict of crun why for machines ("memory"), Why says it,
	// Sure how sure it is (certain, likely, unknown), and Fix what helps.
	Code        string    `json:"code"`
	Why         string    `json:"why"`
	Sure        string    `json:"sure"`
	Fix         string    `json:"fix"`
	Failed      bool      `json:"failed"`
	ExitCode    *int      `json:"exit_code"`
	Signal      string    `json:"signal"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	Seconds     float64   `json:"seconds"`
	MemoryPeak  int64     `json:"memory_peak"`
	MemoryLimit int64     `json:"memory_limit"`
	Attempts    int       `json:"attempts"` // 1 for a run that was not started again
}

// Target is whom to tell. Command and Webhook may both be set.
type Target struct {
	Command []string
	Webhook string // a URL; a secret
	// Body is a template for what the webhook gets; "" for the Message.
	Body string
	// Proxies and the bundle of certificates of the machine.
	HTTPProxy, HTTPSProxy, NoProxy string
	CA                             string // a file, or ""
}

// ParseBody reads a template: Go's, over the Message as JSON writes it
// ({{.text}}), with the function json, which writes a value as JSON does.
func ParseBody(text string) (*template.Template, error) {
	return template.New("body").Option("missingkey=error").Funcs(template.FuncMap{"json": func(v any) (string, error) {
		data, err := json.Marshal(v)
		return string(data), err
	}}).Parse(text)
}

// CheckBody says what is wrong with a template: a field that no message has, or
// what begins as JSON and is none when the sentence has quotes in it.
func CheckBody(text string) error {
	if _, err := ParseBody(text); err != nil {
		return fmt.Errorf("is no template: %w", err)
	}
	data, err := json.Marshal(Message{Text: "run \"night\"\nended", Command: []string{"python", "train.py"}})
	if err != nil {
		return err
	}
	body, err := fill(text, data)
	if err != nil {
		var failed template.ExecError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("cannot be filled: %w; the fields are those of docs/notify.md, such as {{json .text}}", err)
	}
	if first := bytes.TrimSpace(body); len(first) > 0 && (first[0] == '{' || first[0] == '[') && !json.Valid(first) {
		return errors.New("makes no JSON of a sentence that has quotes in it; write {{json .text}}, which brings its own quotes, in the place of \"{{.text}}\"")
	}
	return nil
}

// refusal gives what a chat's server says in an answer that HTTP calls a good
// one: errcode of WeCom and DingTalk, code of Feishu, both 0 for success
// (https://developer.work.weixin.qq.com/document/path/91770,
// https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot); "" for none.
func refusal(body []byte) string {
	var said struct {
		Errcode, Code *int
		Errmsg, Msg   string
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	switch {
	case said.Errcode != nil && *said.Errcode != 0:
		return fmt.Sprintf("errcode %d: %s", *said.Errcode, said.Errmsg)
	case said.Code != nil && *said.Code != 0 && *said.Code != http.StatusOK && said.Msg != "":
		return fmt.Sprintf("code %d: %s", *said.Code, said.Msg)
	}
	return ""
}

// Send tells the target. The error says what failed, and has no part of the
// webhook's URL but its host.
func Send(ctx context.Context, t Target, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	m.Version, m.Event = Version, "end"
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var errs []error
	if len(t.Command) > 0 {
		errs = append(errs, run(ctx, t.Command, data))
	}
	if t.Webhook != "" {
		errs = append(errs, post(ctx, t, data))
	}
	return errors.Join(errs...)
}

// run gives data to a command.
func run(ctx context.Context, command []string, data []byte) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var said bounded
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = bytes.NewReader(data), &said, &said, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with all that it started
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("notify.command %s did not end within %s", command[0], Limit)
	}
	return fmt.Errorf("notify.command %s: %w%s", command[0], err, said.tail())
}

// post sends data, or what the target's body makes of it.
func post(ctx context.Context, t Target, data []byte) error {
	where, err := url.Parse(t.Webhook)
	if err != nil || where.Host == "" {
		return errors.New("notify.webhook is no URL")
	}
	if t.Body != "" {
		if data, err = fill(t.Body, data); err != nil {
			return fmt.Errorf("notify.body: %w", err)
		}
	}
	client, err := clientFor(t)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Webhook, bytes.NewReader(data))
	if err != nil {
		return errors.New("notify.webhook is no URL")
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("User-Agent", "crun")
	answer, err := client.Do(request)
	if err != nil {
		var hiding *url.Error // whose text is the whole URL
		if errors.As(err, &hiding) {
			err = hiding.Err
		}
		return fmt.Errorf("notify.webhook at %s: %w", where.Host, err)
	}
	defer answer.Body.Close()
	var said bounded
	_, _ = io.Copy(&said, io.LimitReader(answer.Body, maxOutput)) // for the message alone
	if answer.StatusCode/100 == 2 {
		if why := refusal(said.data); why != "" {
			return fmt.Errorf("notify.webhook at %s answers %s", where.Host, strings.ToValidUTF8(why, "?"))
		}
		return nil
	}
	return fmt.Errorf("notify.webhook at %s answers %s%s", where.Host, answer.Status, said.tail())
}

func fill(body string, data []byte) ([]byte, error) {
	t, err := ParseBody(body)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, fields); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// clientFor follows no redirect: the address is a secret, and its body is for
// nobody else.
func clientFor(t Target) (*http.Client, error) {
	proxy := (&httpproxy.Config{HTTPProxy: t.HTTPProxy, HTTPSProxy: t.HTTPSProxy, NoProxy: t.NoProxy}).ProxyFunc()
	transport := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }, DisableKeepAlives: true}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("notify.webhook: reading the certificates: %w", err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ data []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), maxOutput-len(b.data))]...)
	return len(p), nil
}

// tail is what was said, behind a colon, on one line.
func (b *bounded) tail() string {
	text := strings.Join(strings.Fields(string(b.data)), " ")
	if text == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(text, "?")
}
