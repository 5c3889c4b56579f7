package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func loadBuild(t *testing.T, files ...File) (Build, []Warning) {
	t.Helper()
	b, warnings, err := LoadBuild(files)
	if err != nil {
		t.Fatal(err)
	}
	return b, warnings
}

func TestBuildSection(t *testing.T) {
	b, warnings := loadBuild(t,
		file(Project, "sub/profiles.yaml", "build: {apt: [ffmpeg], cpus: 2}"),
		file(Project, "profiles.yaml", "build:\n  apt: [git]\n  compiler: false\n  base: debian:12\n  cuda: 12.4\n  check: [PIL.Image]\nprofiles: {a: {memory: oops}}"),
		file(User, "user.yaml", "build: {memory: 8g, cpus: 4}"),
		file(System, "system.yaml", "build: {memory: 16g}"))
	no := false
	want := Build{
		Apt: []string{"ffmpeg"}, Base: "debian:12", Compiler: &no, CUDA: "12.4", Check: []string{"PIL.Image"},
		Memory: 8 << 30, CPUs: 2, Origin: map[string]Source{
			"apt": {"sub/profiles.yaml", 2, 14}, "cpus": {"sub/profiles.yaml", 2, 30}, "compiler": {"profiles.yaml", 4, 13},
			"base": {"profiles.yaml", 5, 9}, "cuda": {"profiles.yaml", 6, 9}, "check": {"profiles.yaml", 7, 10}, "memory": {"user.yaml", 2, 17},
		},
	}
	if diff := cmp.Diff(want, b); diff != "" || len(warnings) > 0 {
		t.Errorf("it differs (-want +got), warnings %v:\n%s", warnings, diff)
	}
}

func TestFinalBoundsOfTheSystem(t *testing.T) {
	system := file(System, "system.yaml", "build: {memory: 4g, cpus: 2, final: true}")
	b, warnings := loadBuild(t, file(Project, "p.yaml", "build: {memory: 8g, cpus: 1}"), system)
	if b.Memory != 4<<30 || b.CPUs != 1 {
		t.Errorf("the bounds are %d bytes and %d CPUs", b.Memory, b.CPUs)
	}
	want := "p.yaml:2:17: build.memory is 8g; this machine allows 4g (system.yaml:2:17), which is taken"
	if len(warnings) != 1 || warnings[0].String() != want {
		t.Errorf("the warnings are %v, want %s", warnings, want)
	}
}

// What makes an image another one is the repository's to say: two machines
// would make two images of one repository.
func TestMachinesDoNotChangeImages(t *testing.T) {
	for _, layer := range []Layer{User, System} {
		for _, key := range []string{"apt: [git]", "base: debian:12", "compiler: true", `cuda: "12.4"`, "check: [torch]"} {
			_, _, err := LoadBuild([]File{file(layer, "p.yaml", "build: {"+key+"}")})
			if err == nil || !strings.Contains(err.Error(), "p.yaml:2:9: build.") || !strings.Contains(err.Error(), "belongs into the repository's") {
				t.Errorf("layer %d, %s: the error is %v", layer, key, err)
			}
		}
	}
}

func TestBuildOfANewerFile(t *testing.T) {
	_, _, err := LoadBuild([]File{{Name: "p.yaml", Layer: Project, Data: []byte("version: 2\nbuild: {apt: [git]}\n")}})
	if err == nil || !strings.Contains(err.Error(), `p.yaml:1:10: version is "2"`) {
		t.Errorf("the error is %v", err)
	}
}
