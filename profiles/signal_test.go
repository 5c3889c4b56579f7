package profiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignalBeforeKill(t *testing.T) {
	for _, test := range []struct {
		inherited, flag string
		want            SignalBeforeKill
	}{
		{"", "SIGUSR2", SignalBeforeKill{"SIGUSR2", 90, 95}},
		{"", "memory=80%", SignalBeforeKill{"", 80, 0}},
		{"", "usr1,memory=80%,time=50%", SignalBeforeKill{"SIGUSR1", 80, 50}},
		{"{signal: SIGHUP, memory: 70%}", "time=50%", SignalBeforeKill{"SIGHUP", 70, 50}},
		{"{signal: SIGHUP, memory: 70%}", "SIGUSR2", SignalBeforeKill{"SIGUSR2", 70, 95}},
		{"{signal: SIGHUP, memory: 70%}", "none", SignalBeforeKill{}},
		{"time=50%", "", SignalBeforeKill{"", 0, 50}},
	} {
		t.Run(test.inherited+" "+test.flag, func(t *testing.T) {
			text := "version: 1\nprofiles:\n  far: {memory: 1g}\n  p:\n    extends: far\n"
			if test.inherited != "" {
				text = "version: 1\nprofiles:\n  far:\n    signal_before_kill: " + test.inherited + "\n  p:\n    extends: far\n"
			}
			set, _, err := Load([]File{{Name: "profiles.yaml", Layer: Given, Data: []byte(text)}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := set.Resolve("p")
			if err != nil {
				t.Fatal(err)
			}
			if test.flag != "" {
				if err := p.Override("signal_before_kill", test.flag, Flag("--signal-before-kill")); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := p.Check(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(&test.want, p.SignalBeforeKill); diff != "" {
				t.Error(diff)
			}
		})
	}
}
