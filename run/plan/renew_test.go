package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestRenew leaves nothing of the old id in the new plan, and the old plan as
// it was.
func TestRenew(t *testing.T) {
	const old, id = "06c3k8p2v9qa", "06c3k8p2v9qb"
	p := &Plan{ID: old, Name: "train", Scratch: "/scratch/crun-" + old, Spec: specs.Spec{
		Annotations: map[string]string{LabelPrefix + "run": old},
		Mounts:      []specs.Mount{{Source: "/scratch/crun-" + old, Destination: "/tmp"}, {Source: "/scratch/crun-" + old + "/tmp", Destination: "/var/tmp"}, {Source: "/project", Destination: "/project"}},
	}}
	before, _ := json.Marshal(p)
	renewed, _ := json.Marshal(p.Renew(id))
	if want := strings.ReplaceAll(string(before), old, id); string(renewed) != want {
		t.Errorf("renewed %s\nwant    %s", renewed, want)
	}
	if after, _ := json.Marshal(p); string(after) != string(before) {
		t.Errorf("the old plan became %s", after)
	}
}
