package buildkit

import (
	"bytes"
	"strings"

	"github.com/moby/buildkit/client"
	digest "github.com/opencontainers/go-digest"
)

// hider keeps texts out of what a build tells. The programs that run in a
// build do that themselves; what they start, and BuildKit, may not.
type hider struct {
	texts    []string // longest first
	replacer *strings.Replacer
	// held is the end of a step's output that may be the beginning of a text.
	held map[stream]*client.VertexLog
}

// stream is one of the two outputs of a step.
type stream struct {
	step   digest.Digest
	number int
}

func newHider(texts []string) hider {
	var pairs []string
	for _, text := range texts {
		if text != "" {
			pairs = append(pairs, text, "***")
		}
	}
	return hider{texts: texts, replacer: strings.NewReplacer(pairs...), held: map[stream]*client.VertexLog{}}
}

// text gives text without what is hidden.
func (h hider) text(text string) string {
	if len(h.texts) == 0 {
		return text
	}
	return h.replacer.Replace(text)
}

// status takes what is hidden out of s.
func (h hider) status(s *client.SolveStatus) {
	if len(h.texts) == 0 {
		return
	}
	for _, v := range s.Vertexes {
		v.Name, v.Error = h.text(v.Name), h.text(v.Error)
	}
	for _, v := range s.Statuses {
		v.ID, v.Name = h.text(v.ID), h.text(v.Name)
	}
	for _, l := range s.Logs {
		key := stream{l.Vertex, l.Stream}
		data := l.Data
		if held := h.held[key]; held != nil {
			data = append(held.Data, data...)
			delete(h.held, key)
		}
		data = []byte(h.text(string(data)))
		if n := h.unfinished(data); n > 0 {
			rest := *l
			rest.Data = bytes.Clone(data[len(data)-n:])
			h.held[key] = &rest
			data = data[:len(data)-n]
		}
		l.Data = data
	}
	for i := range s.Warnings {
		s.Warnings[i].Short = []byte(h.text(string(s.Warnings[i].Short)))
	}
}

// unfinished is how many of the last bytes of data are the beginning of a text.
func (h hider) unfinished(data []byte) int {
	most := 0
	for _, text := range h.texts {
		for n := min(len(text)-1, len(data)); n > most; n-- {
			if bytes.HasSuffix(data, []byte(text[:n])) {
				most = n
				break
			}
		}
	}
	return most
}

// rest is what is still held when the build has ended, or nil.
func (h hider) rest() *client.SolveStatus {
	if len(h.held) == 0 {
		return nil
	}
	s := &client.SolveStatus{}
	for _, l := range h.held {
		s.Logs = append(s.Logs, l)
	}
	clear(h.held)
	return s
}
