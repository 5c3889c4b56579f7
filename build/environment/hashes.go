package environment

import "strings"

// checkHashes asks for what "--require-hashes" demands, and for a kind of hash
// that crun.lock has.
func (p *parser) checkHashes() {
	required := ""
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Text == "--require-hashes" {
				required = r.Pos.String()
			}
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			hashes := strings.Join(r.Hashes(), " ")
			switch {
			case hashes != "" && !strings.Contains(hashes, "sha256:"):
				p.errorf(r.Pos, `%q has no hash of the kind sha256, which is the one that is checked; "pip hash FILE" gives it`, r.Text)
			case required != "" && hashes == "" && (r.Kind == PipPackage || r.Kind == PipURL):
				p.errorf(r.Pos, "%q has no hash, which --require-hashes (%s) asks for; add --hash=sha256:..., or take that option out: crun.lock has the hashes of all packages, and they are always checked", r.Text, required)
			}
		}
	}
}
