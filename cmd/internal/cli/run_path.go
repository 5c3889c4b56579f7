package cli

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/run/plan"
)

// addPythonPath lets a run import what the environment names with "-e": from
// the project, behind what PYTHONPATH says already.
func (app *App) addPythonPath(j *job, request *plan.Request) {
	var folders []string
	for _, folder := range j.pythonPath {
		if request.Project != "" && within(folder, request.Project) {
			folders = append(folders, folder)
			continue
		}
		j.warnings = append(j.warnings, fmt.Sprintf("%s, which the environment names with -e, is not in what the run sees (%s): name a folder that holds both with --project", folder, firstOf(request.Project, "no project")))
	}
	if len(folders) == 0 {
		return
	}
	const name = "PYTHONPATH"
	path := strings.Join(folders, ":")
	isIt := func(v plan.EnvVar) bool { return v.Name == name }
	if i := slices.IndexFunc(request.Env, isIt); i >= 0 {
		if request.Env[i].FromHost {
			j.secrets[name] = joinPath(j.secrets[name], path)
		} else {
			request.Env[i].Value = joinPath(request.Env[i].Value, path)
		}
		return
	}
	if i := slices.IndexFunc(request.Limits.Env, isIt); i >= 0 {
		if request.Limits.Env[i].FromHost {
			j.secrets[name] = joinPath(j.secrets[name], path)
		} else {
			request.Limits.Env[i].Value = joinPath(request.Limits.Env[i].Value, path)
		}
		return
	}
	for _, entry := range request.Image.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			path = joinPath(value, path)
		}
	}
	request.Env = append(request.Env, plan.EnvVar{Name: name, Value: path})
}

func joinPath(before, path string) string {
	if before == "" {
		return path
	}
	return before + ":" + path
}
