package build

import (
	"strings"
	"testing"
)

func TestNoSolution(t *testing.T) {
	p := open(t, write(t, environmentFile))
	for _, test := range []struct {
		f    failure
		want string
	}{
		{failure{Kind: "conda", Text: "x", Missing: []missing{
			{Spec: "pytorch=2.*", Near: []string{"1.7.1"}}, {Spec: "pyyaml", Names: []string{"ruamel.yaml", "yaml"}}, {Spec: "pip"},
		}}, `no channel has what is asked for:
FILE:5:5: pytorch=2.*: the nearest is 1.7.1
FILE:6:5: pyyaml: there is no such package (did you mean ruamel.yaml, yaml?)
FILE:7:5: pip: there is no such package
change the versions, or add a channel that has them`},
		{failure{Kind: "pip", Text: "x", Missing: []missing{{Spec: "tqdm==4.66.5", Near: []string{"4.66.4", "4.66.6"}}}}, `no index has what is asked for:
FILE:9:9: tqdm==4.66.5: nearest are 4.66.4, 4.66.6
change the versions, or name an index that has them (--extra-index-url)`},
		{failure{
			Kind: "conda", Text: "Cannot solve the request because of: pytorch 2.* cannot be installed\n└─ python >=3.10", Core: []string{"python=3.9", "pytorch=2.*"},
			Changes: []change{{Spec: "python=3.9", Version: "3.10.13"}, {Spec: "pytorch=2.*", Version: "1.13.1"}},
		}, `these cannot go together:
FILE:4:5: python=3.9
FILE:5:5: pytorch=2.*
  pytorch 2.* cannot be installed
  └─ python >=3.10
one of these is enough:
FILE:4:5: python=3.10 in place of python=3.9
FILE:5:5: pytorch=1.13 in place of pytorch=2.*`},
		{failure{Kind: "conda", Text: "x needs __glibc >=9", Core: []string{"pyyaml"}, Changes: []change{{Spec: "pyyaml"}}}, `this cannot be installed:
FILE:6:5: pyyaml
  x needs __glibc >=9
this is enough:
FILE:6:5: pyyaml taken out`},
		{failure{Kind: "conda", Text: "x", Core: []string{"pytorch=2.*", "pyyaml"}, Together: []change{{Spec: "pytorch=2.*", Version: "1.12.0"}, {Spec: "pyyaml"}}}, `these cannot go together:
FILE:5:5: pytorch=2.*
FILE:6:5: pyyaml
  x
these are enough together:
FILE:5:5: pytorch=1.12 in place of pytorch=2.*
FILE:6:5: pyyaml taken out`},
		{failure{Kind: "pip", Text: "Because x needs tqdm>=5\nconda brings tqdm", Core: []string{"tqdm==4.66.5"}, Changes: []change{{Spec: "tqdm==4.66.5", Version: "5.0.1"}}}, `this cannot be installed:
FILE:9:9: tqdm==4.66.5
  Because x needs tqdm>=5
  conda brings tqdm
this is enough:
FILE:9:9: tqdm==5.0.1 in place of tqdm==4.66.5`},
		{failure{Kind: "conda", Text: "it took too long to tell why pytorch does not fit", Core: []string{"python=3.9", "pytorch=2.*"}}, `these cannot go together:
FILE:4:5: python=3.9
FILE:5:5: pytorch=2.*
  it took too long to tell why pytorch does not fit
change the versions of these`},
		{failure{Kind: "pip", Text: "tqdm: no wheel"}, `the packages have no solution:
FILE:9:9: tqdm==4.66.5
  tqdm: no wheel
change the versions of these, or take the pip packages from conda`},
	} {
		got := p.noSolution(test.f).Error()
		if want := "FILE: " + test.want; strings.ReplaceAll(got, p.File, "FILE") != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
