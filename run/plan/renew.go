package plan

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Renew gives the plan of another run that is to be as p is: its own id, and
// its own folder where p has a tmpdir on disk. Name, limits, image and command
// are p's.
func (p *Plan) Renew(id string) *Plan {
	renewed := *p
	renewed.ID = id
	renewed.Spec.Annotations = maps.Clone(p.Spec.Annotations)
	if renewed.Spec.Annotations != nil {
		renewed.Spec.Annotations[LabelPrefix+"run"] = id
	}
	if p.Scratch != "" {
		renewed.Scratch = filepath.Join(filepath.Dir(p.Scratch), "crun-"+id)
		renewed.Spec.Mounts = slices.Clone(p.Spec.Mounts)
		for i := range renewed.Spec.Mounts {
			if m := &renewed.Spec.Mounts[i]; p.InScratch(m.Source) {
				m.Source = renewed.Scratch + strings.TrimPrefix(m.Source, p.Scratch)
			}
		}
	}
	return &renewed
}
