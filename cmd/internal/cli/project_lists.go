package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crun.dev/crun/internal/lazyregexp"
)

// projectLists are the lists of a pyproject.toml that are wanted beside its
// dependencies.
type projectLists struct {
	extras, groups []string
}

func (l *projectLists) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&l.extras, "extra", nil, "of a pyproject.toml, also the packages of this extra, `NAME`, of [project.optional-dependencies]; several times for several")
	flags.StringSliceVar(&l.groups, "group", nil, "of a pyproject.toml, also the packages of this group, `NAME`, of [dependency-groups]; several times for several")
}

func (l projectLists) isEmpty() bool { return len(l.extras)+len(l.groups) == 0 }

// listName is a valid name of an extra or a group (PEP 685, PEP 735).
var listName = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func (l projectLists) check(cmd *cobra.Command) error {
	for _, list := range []struct {
		flag  string
		names []string
	}{{"extra", l.extras}, {"group", l.groups}} {
		if len(list.names) == 0 && cmd.Flags().Changed(list.flag) {
			return usagef(cmd, "--%s is empty: name one, or leave the flag out", list.flag)
		}
		for _, name := range list.names {
			if !listName.MatchString(name) {
				return usagef(cmd, "--%s is %q; allowed are letters, digits and . _ - between them, as in the pyproject.toml", list.flag, name)
			}
		}
	}
	return nil
}
