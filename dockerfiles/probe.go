package dockerfiles

// Probe is what the Dockerfile that tries sources from inside a build is
// written from.
type Probe struct {
	ToolboxBase string
	// Seconds is how long each source may take to answer.
	Seconds int
}

// Of the Dockerfile that RenderProbe writes: SecretProbe has an address a line;
// ProbeFile of StageProbe has for each a line "try CODE MILLISECONDS" with
// apt's words behind it, first for apt's own sources, and behind "sources" those;
// IndexFile of StageIndex is the address that pip asks by itself.
const (
	SecretProbe = "crun-probe"
	ProbeFile   = "/probe.txt"
	StageProbe  = "probe"
	StageIndex  = "index"
	IndexFile   = "/index.txt"
)

// RenderProbe writes the Dockerfile that tries sources from inside a build. The
// error names a value that cannot stand in one.
func RenderProbe(p Probe) (*Context, error) {
	return render("probe.Dockerfile.tmpl", p, toolbox())
}
