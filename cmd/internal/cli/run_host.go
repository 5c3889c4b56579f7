package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/view"
)

// passed are the caller's variables that every run gets as secrets, unless
// "pass" in config.yaml says otherwise: accounts and settings of the trackers
// of experiments and of the hubs that models come from.
var passed = []string{
	"WANDB_*", "MLFLOW_*", "COMET_*", "NEPTUNE_*", "CLEARML_*", "SWANLAB_*", "KAGGLE_*",
	"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE",
	"MODELSCOPE_API_TOKEN", "NGC_API_KEY",
}

// passHost gives a run the caller's variables of passed. Those that name
// folders (WANDB_DIR) are of this machine and not of the run.
func (app *App) passHost(j *job, request *plan.Request, machine *config.Config) {
	patterns, origin := machine.Pass, plan.PassedOrigin+", "+machine.Origin["pass"]
	if patterns == nil {
		patterns, origin = passed, plan.PassedOrigin
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		value := app.Getenv(name)
		if value == "" || len(name)+len(value)+2 > maxVar || !slices.ContainsFunc(patterns, func(p string) bool { return matches(name, p) }) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(request.Env, request.Limits.Env), func(v plan.EnvVar) bool { return v.Name == name }) {
			continue
		}
		request.HostEnv = append(request.HostEnv, plan.HostVar{EnvVar: plan.EnvVar{Name: name, FromHost: true}, Origin: origin})
		j.secrets[name] = value
	}
}

func matches(name, pattern string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	if !open {
		return name == pattern
	}
	return strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, "_DIR")
}

// cache is where a library keeps what it has downloaded.
type cache struct {
	variable string
	folder   string // where it is without the variable: below ~ or $XDG_CACHE_HOME; "" is nowhere
}

// caches are those of models and data that a run can use as they are.
var caches = []cache{
	{"HF_HOME", "$XDG_CACHE_HOME/huggingface"},
	{"HF_HUB_CACHE", ""}, {"HUGGINGFACE_HUB_CACHE", ""}, {"HF_DATASETS_CACHE", ""}, {"HF_ASSETS_CACHE", ""},
	{"TRANSFORMERS_CACHE", ""}, {"SENTENCE_TRANSFORMERS_HOME", ""},
	{"TORCH_HOME", "$XDG_CACHE_HOME/torch"},
	{"MODELSCOPE_CACHE", "$XDG_CACHE_HOME/modelscope"},
	{"NLTK_DATA", "~/nltk_data"},
	{"TFDS_DATA_DIR", "~/tensorflow_datasets"},
	{"KERAS_HOME", "~/.keras"},
	{"SCIKIT_LEARN_DATA", "~/scikit_learn_data"},
	{"FLAIR_CACHE_ROOT", ""}, {"GENSIM_DATA_DIR", "~/gensim-data"},
}

// showCaches shows a run the caches of the caller that are there, at their own
// paths, and tells the libraries. A cache that the image names is kept.
func (app *App) showCaches(request *plan.Request, daemon view.Daemon) (warnings []string) {
	home := app.Getenv("HOME")
	cacheHome := app.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(cacheHome) {
		cacheHome = filepath.Join(home, ".cache")
	}
	for _, c := range caches {
		value := app.Getenv(c.variable)
		if value == "" && filepath.IsAbs(home) {
			value = strings.Replace(c.folder, "$XDG_CACHE_HOME", cacheHome, 1)
		}
		if strings.HasPrefix(value, "~/") {
			value = filepath.Join(home, value[2:])
		}
		there := false
		for _, path := range filepath.SplitList(value) { // NLTK_DATA may be several
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() || !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
				continue
			}
			path = filepath.Clean(path)
			if err := daemon.Reach(path); err != nil {
				warnings = append(warnings, fmt.Sprintf("%s: %v; the run does without it", c.variable, err))
				continue
			}
			if viewOf(request).Missing(path) != "" {
				request.Mounts = append(request.Mounts, plan.Mount{Source: path, Target: path, Origin: "the caller's cache, " + c.variable})
			}
			there = true
		}
		if there {
			request.HostEnv = append(request.HostEnv, plan.HostVar{EnvVar: plan.EnvVar{Name: c.variable, Value: value}, Weak: true, Origin: "the caller's cache"})
		}
	}
	return warnings
}

// zoneinfo is where time zones are, on this machine and in images.
const zoneinfo = "/usr/share/zoneinfo"

// showZone gives a run the caller's time zone, or else the host's, whether or
// not its image knows any.
func (app *App) showZone(request *plan.Request, facts engine.Facts) {
	zone := app.Getenv("TZ")
	if zone != "" {
		request.HostEnv = append(request.HostEnv, plan.HostVar{EnvVar: plan.EnvVar{Name: "TZ", Value: zone}, Weak: true, Origin: "the caller's time zone"})
	}
	if facts.Remote {
		return
	}
	name := strings.TrimPrefix(zone, ":")
	source, target := zoneinfo+"/"+name, zoneinfo+"/"+name
	if zone == "" {
		source, target = localtime(), "/etc/localtime"
	} else if !filepath.IsLocal(name) {
		return // a rule ("CET-1CEST"), or a file of the image's
	}
	if info, err := os.Stat(source); err != nil || !info.Mode().IsRegular() {
		return
	}
	request.Mounts = append(request.Mounts, plan.Mount{Source: source, Target: target, ReadOnly: true, Origin: "the host's time zone"})
}

// localtime is the file of the host's time zone, or "" where that is UTC, as
// it is in images.
func localtime() string {
	path, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil || slices.Contains([]string{"UTC", "UCT", "Universal", "Zulu"}, filepath.Base(path)) {
		return ""
	}
	return path
}
