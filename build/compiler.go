package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/lazyregexp"
)

// A C compiler comes along where torch is 2 or newer: torch.compile writes
// C++ for the CPU, and triton compiles a launcher in C for each kernel, both
// at run time. The packages are Debian's and Ubuntu's, and conda-forge's (gxx
// brings gcc along).
var compilerPackages = []string{"g++", "gcc", "libc6-dev"}

const compilerSpec = "gxx"

// condaCompilers are packages that bring a compiler into an environment.
var condaCompilers = []string{"gcc", "gxx", "c-compiler", "cxx-compiler", "compilers", "gxx_linux-64", "gxx_linux-aarch64"}

// needsCompiler tells whether the image of l should have a compiler. Before
// pip's packages are chosen, what the file asks pip for is a guess.
func (p *Project) needsCompiler(l *lock.Lock) bool {
	if p.Options.Compiler != nil {
		return *p.Options.Compiler
	}
	if compiled, _ := splitCompiled(l.Pip); len(compiled) > 0 || len(l.Pip) == 0 && asksForCompiled(p.Environment) {
		return true
	}
	torch := version(l.Conda, l.Pip, "pytorch", "torch")
	if torch == "" && len(l.Pip) == 0 {
		torch = expectedTorch(p.Environment)
	}
	major, err := strconv.Atoi(strings.SplitN(torch, ".", 2)[0])
	return err == nil && major >= 2
}

var oldTorch = lazyregexp.New(`^\s*(?:==|~=|<=?)\s*[01](?:\.|$)|^\s*<\s*2(?:\.0)*$`)

// expectedTorch is "2" where the file asks pip for a torch that is new, most
// likely.
func expectedTorch(env *environment.Environment) string {
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Kind == environment.PipPackage && r.Name == "torch" && !oldTorch.MatchString(strings.TrimPrefix(r.Text, "torch")) {
				return "2"
			}
		}
	}
	return ""
}

// addCompiler puts the compiler that l needs into it, and the apt packages
// that are asked for.
func (b *builder) addCompiler(ctx context.Context, l *lock.Lock, facts baseFacts, update Update) error {
	p := b.project
	l.Compiler = ""
	asked := p.Options.Apt
	switch {
	case !p.needsCompiler(l):
	case slices.ContainsFunc(l.Conda, func(pkg lock.Package) bool { return slices.Contains(condaCompilers, pkg.Name) }):
		l.Compiler = "environment"
	case facts.Compiler:
		l.Compiler = "base"
	case facts.Apt:
		l.Compiler = "apt"
		asked = slices.Concat(asked, compilerPackages)
	default:
		if err := b.compilerFromConda(ctx, l); err != nil {
			return err
		}
	}
	return b.solveApt(ctx, l, asked, update)
}

// compilerFromConda adds conda-forge's compiler to the conda packages of l,
// which stay as they are.
func (b *builder) compilerFromConda(ctx context.Context, l *lock.Lock) error {
	p := b.project
	request := p.solveRequest(kept{packages: l.Conda, miniconda: l.Miniconda})
	request.Specs, request.Exact = append(request.Specs, compilerSpec), false
	context, err := p.renderSolve(from(l.Base), request)
	if err != nil {
		return err
	}
	_, s, err := b.choose(ctx, "choosing a C compiler", context, "")
	var none *NoSolutionError
	if errors.As(err, &none) {
		b.request.Notes(fmt.Sprintf("the image has no C compiler, which torch.compile needs: %s has no apt, and the channels have no %s that fits "+
			"(build.compiler: false in profiles.yaml leaves this line out)", p.Options.Base, compilerSpec))
		return nil
	} else if err != nil {
		return err
	}
	l.Conda, l.Miniconda, l.Compiler = nil, nil, "conda"
	takeConda(l, s)
	return nil
}
