package build

import (
	"slices"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
)

// modules are what well-known packages are imported as, by their conda or pip
// name. Packages that need a GPU's driver to be imported are not among them.
var modules = map[string]string{
	"pytorch": "torch", "torch": "torch", "torchvision": "torchvision", "torchaudio": "torchaudio",
	"numpy": "numpy", "scipy": "scipy", "pandas": "pandas", "scikit-learn": "sklearn", "matplotlib": "matplotlib",
	"matplotlib-base": "matplotlib", "pillow": "PIL", "opencv": "cv2", "py-opencv": "cv2", "opencv-python": "cv2",
	"opencv-python-headless": "cv2", "pyyaml": "yaml", "h5py": "h5py", "tqdm": "tqdm", "einops": "einops",
	"transformers": "transformers", "pytorch-lightning": "pytorch_lightning", "lightning": "lightning",
	"tensorboard": "tensorboard", "torchmetrics": "torchmetrics", "timm": "timm",
}

// always are checked also where another package brought them.
var always = []string{"torch", "numpy"}

// imports are the modules that have to be importable in the image: those of
// well-known packages that the file asks for.
func imports(env *environment.Environment, l *lock.Lock) []string {
	var found []string
	add := func(name string) {
		if module := modules[name]; module != "" && !slices.Contains(found, module) {
			found = append(found, module)
		}
	}
	for _, p := range l.Conda {
		if slices.Contains(always, modules[p.Name]) {
			add(p.Name)
		}
	}
	for _, d := range l.Pip {
		if slices.Contains(always, modules[d.Name]) {
			add(d.Name)
		}
	}
	for _, spec := range env.Conda {
		add(spec.Name)
	}
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			// One with a marker may not apply.
			if slices.ContainsFunc(l.Pip, func(d lock.Distribution) bool { return d.Name == r.Name }) {
				add(r.Name)
			}
		}
	}
	slices.Sort(found)
	return found
}
