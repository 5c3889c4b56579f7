package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// mirrorSetups are ready parts of config.yaml by their names. The addresses are
// those of the mirrors' own help pages.
var mirrorSetups = map[string]string{
	"tuna": mirrorSetup("Tsinghua University", "https://mirrors.tuna.tsinghua.edu.cn", "/pypi/web/simple"),
	"ustc": mirrorSetup("the University of Science and Technology of China", "https://mirrors.ustc.edu.cn", "/pypi/simple"),
}

func mirrorSetup(who, host, pip string) string {
	plain := strings.Replace(host, "https://", "http://", 1)
	return "# The mirrors of " + who + ".\n" + `mirrors:
  conda:
    conda-forge: ` + host + `/anaconda/cloud/conda-forge
    pytorch: ` + host + `/anaconda/cloud/pytorch
    pkgs/main: ` + host + `/anaconda/pkgs/main
    pkgs/r: ` + host + `/anaconda/pkgs/r
  pip:
    index_url: ` + host + pip + `
  apt: # apt checks signatures, so plain http will do
    debian: ` + plain + `/debian
    debian-security: ` + plain + `/debian-security
    ubuntu: ` + plain + `/ubuntu
  # They mirror no registry of images: name one that you may use.
  # registry: {docker-hub: REGISTRY.EXAMPLE.ORG}
`
}

func mirrorNames() []string { return slices.Sorted(maps.Keys(mirrorSetups)) }

func checkMirror(cmd *cobra.Command, name string) error {
	if _, ok := mirrorSetups[name]; name != "" && !ok {
		return usagef(cmd, "--mirror is %q; there are ready set-ups for %s", name, strings.Join(mirrorNames(), ", "))
	}
	return nil
}

// printMirror prints a ready set-up, and on stderr where it goes.
func (app *App) printMirror(name string) {
	fmt.Fprint(app.Out, mirrorSetups[name])
	app.note("write this into %s, beside what is there; crun doctor --network then tries it", app.configFile())
}
