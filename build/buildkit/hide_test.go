package buildkit

import (
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
)

// A secret may come in pieces, and what only begins like one is shown.
func TestHiderHidesAcrossPieces(t *testing.T) {
	const text = "a hunter2 b hunter2/long c hun d hunter2"
	for size := 1; size <= len(text); size++ {
		h := newHider([]string{"hunter2/long", "hunter2"})
		var shown strings.Builder
		show := func(s *client.SolveStatus) {
			for _, l := range s.Logs {
				shown.Write(l.Data)
			}
		}
		for i := 0; i < len(text); i += size {
			s := &client.SolveStatus{Logs: []*client.VertexLog{{Vertex: "sha256:1", Data: []byte(text[i:min(i+size, len(text))])}}}
			h.status(s)
			show(s)
		}
		if rest := h.rest(); rest != nil {
			show(rest)
		}
		if strings.Contains(shown.String(), "hunter2") || !strings.HasPrefix(shown.String(), "a *** b ***") || !strings.Contains(shown.String(), " c hun d ***") {
			t.Errorf("in pieces of %d it shows %q", size, shown.String())
		}
	}
}

func TestHiderHidesInErrors(t *testing.T) {
	s := &client.SolveStatus{Vertexes: []*client.Vertex{{Name: "load hunter2", Error: "https://u:hunter2@h: 403"}}}
	newHider([]string{"hunter2"}).status(s)
	if s.Vertexes[0].Name != "load ***" || s.Vertexes[0].Error != "https://u:***@h: 403" {
		t.Errorf("%+v", s.Vertexes[0])
	}
}
