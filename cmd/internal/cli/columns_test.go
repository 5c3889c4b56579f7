package cli

import (
	"strings"
	"testing"
)

func TestPrintColumns(t *testing.T) {
	long := strings.Repeat("x", 50)
	var out strings.Builder
	err := printColumns(&out, [][]string{
		{"FIELD", "ASKED", "HELD", "FROM"},
		{"command", strings.Repeat("y", 30), "", ""},
		{"memory", "4 GiB", "4 GiB", "flag"},
		{"größe", "é", "", "flag"},
		{"env.HOME", long, "", "crun"},
		{"", "", "", ""},
	})
	want := strings.Join([]string{
		"FIELD     ASKED  HELD   FROM",
		"command   " + strings.Repeat("y", 30),
		"memory    4 GiB  4 GiB  flag",
		"größe     é             flag",
		"env.HOME  " + long + "         crun",
		"", "",
	}, "\n")
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &out, want)
	}
}
