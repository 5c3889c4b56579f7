package dockerfiles

import (
	"maps"
	"slices"
	"strings"
)

// AptMirrors makes SecretApt: the sed script (-E) that puts mirrors, by the
// name of the archive (debian, debian-security, ubuntu), in the place of the
// addresses in sources.list, in both of its formats. An archive's name is the
// end of its address, so no host has to be known.
func AptMirrors(mirrors map[string]string) string {
	var script strings.Builder
	// What is put in must not be taken for an archive's address again.
	script.WriteString("/^[[:space:]]*#/b\n")
	for _, name := range slices.Sorted(maps.Keys(mirrors)) {
		script.WriteString("s,(^|[[:space:]])https?://[^/[:space:]]+(/[^[:space:]]*)?/" + sedPattern.Replace(name) +
			"/?([[:space:]]|$),\\1" + sedText.Replace(strings.TrimRight(mirrors[name], "/")) + "\\3,;t\n")
	}
	return script.String()
}

var (
	sedPattern = strings.NewReplacer(".", "[.]", "+", "[+]", "\\", "", ",", "[,]")
	sedText    = strings.NewReplacer("\\", "\\\\", "&", "\\&", ",", "\\,", "\n", "")
)
