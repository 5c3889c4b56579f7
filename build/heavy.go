package build

import (
	"slices"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
)

// heavyPattern are the packages that are large and change rarely: PyTorch and
// its like, CUDA and what belongs to it, MKL.
var heavyPattern = lazyregexp.New(`^(?:pytorch(?:-(?:gpu|cpu|cuda|mutex))?|libtorch|torch(?:vision|audio|text)?|tensorflow(?:-.*)?|` +
	`jaxlib|cudatoolkit|cuda-.*|cudnn|nccl|libcu.*|libnv.*|libnpp|cutensor|libmagma.*|magma|triton|mkl|mkl-.*|intel-openmp|paddlepaddle(?:-gpu)?)$`)

var dependencyName = lazyregexp.New(`^[a-z0-9_.-]+`)

// splitHeavy divides packages into the heavy ones, and those called also, with
// all that they depend on, and the rest, each in its order. Where nothing is
// heavy all are the rest.
func splitHeavy(packages []lock.Package, also ...string) (heavy, rest []lock.Package) {
	byName := map[string]lock.Package{}
	for _, p := range packages {
		byName[p.Name] = p
	}
	needed := map[string]bool{}
	var need func(name string)
	need = func(name string) {
		p, there := byName[name]
		if !there || needed[name] { // a virtual package, or seen before
			return
		}
		needed[name] = true
		for _, dependency := range p.Depends {
			need(dependencyName.FindString(dependency))
		}
	}
	for _, p := range packages {
		if heavyPattern.MatchString(p.Name) || slices.Contains(also, p.Name) {
			need(p.Name)
		}
	}
	for _, p := range packages {
		if needed[p.Name] {
			heavy = append(heavy, p)
		} else {
			rest = append(rest, p)
		}
	}
	return heavy, rest
}

// heavyPipPattern are their like among pip packages. None of them is installed
// by its dependencies, so those need not come along.
var heavyPipPattern = lazyregexp.New(`^(?:torch(?:vision|audio|text)?|(?:pytorch-)?triton|nvidia-.*|tensorflow(?:-.*)?|` +
	`jaxlib|jax-cuda.*|xformers|vllm|bitsandbytes|cupy-.*|paddlepaddle(?:-gpu)?)$`)

// splitHeavyPip divides pip packages into those that are large and change
// rarely and the rest, each in its order. What comes from a repository or a
// source archive may be built with the rest around it; and where a package
// replaces one of conda's, conda's has to be there before. Such are the rest.
func splitHeavyPip(conda []lock.Package, packages []lock.Distribution) (heavy, rest []lock.Distribution) {
	for _, d := range packages {
		replaces := slices.ContainsFunc(conda, func(p lock.Package) bool {
			return p.Name == d.Name || d.Name == "torch" && p.Name == "pytorch"
		})
		if heavyPipPattern.MatchString(d.Name) && d.URL == "" && !replaces {
			heavy = append(heavy, d)
		} else {
			rest = append(rest, d)
		}
	}
	return heavy, rest
}

// askedPip are the names of the pip packages that the file asks for.
func askedPip(env *environment.Environment) map[string]bool {
	asked := map[string]bool{}
	for _, r := range pipPackages(env) {
		asked[names.Distribution(r.Name)] = true
	}
	return asked
}

// splitAsked divides pip packages into those that came along with others and
// those that the file asks for, each in its order: an edit of a line leaves what
// came along where it is. Where the order of installation may count, as for what
// is built from source, all are asked for.
func splitAsked(packages []lock.Distribution, asked map[string]bool) (along, rest []lock.Distribution) {
	for _, d := range packages {
		if asked[names.Distribution(d.Name)] || d.URL != "" || len(d.Hashes) == 0 {
			rest = append(rest, d)
		} else {
			along = append(along, d)
		}
	}
	return along, rest
}
