package cli

import (
	"errors"
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

// noData is the value of --data that leaves the machine's folders out, and the
// search for what a run does not see.
const noData = "none"

// dataMounts gives what --data and -v mount.
func (app *App) dataMounts(o *runOptions) ([]plan.Mount, error) {
	var mounts []plan.Mount
	var errs []error
	for _, text := range o.data {
		if text == noData {
			continue
		}
		path, readOnly := app.cutAccess(text)
		if path == "" {
			errs = append(errs, fmt.Errorf("--data %q names no folder: write PATH, or PATH:ro for one that the run only reads", text))
			continue
		}
		mounts = append(mounts, plan.Mount{Source: app.abs(path), Target: app.abs(path), ReadOnly: readOnly, Origin: "flag --data"})
	}
	for _, text := range o.volumes {
		mount, err := app.parseVolume(text)
		errs = append(errs, err)
		mounts = append(mounts, mount)
	}
	return mounts, errors.Join(errs...)
}

// showData adds the machine's folders of data to what is mounted, and checks
// all of it where the engine is on this machine.
func (app *App) showData(j *job, request *plan.Request, machine *config.Config, facts engine.Facts) error {
	if !slices.Contains(j.options.data, noData) {
		j.warnings = append(j.warnings, addRoots(request, machine, facts)...)
	}
	app.passHost(j, request, machine)
	app.showZone(request, facts)
	if facts.Remote {
		return nil
	}
	if !machine.NoCaches {
		j.warnings = append(j.warnings, app.showCaches(request, daemonOf(facts))...)
	}
	warnings, err := app.checkData(j.options, request, facts)
	j.warnings = append(j.warnings, warnings...)
	request.Mounts = closeBelow(request.Mounts)
	return err
}

// daemonOf is what decides which files an engine can show.
func daemonOf(facts engine.Facts) view.Daemon {
	return view.Daemon{Rootless: facts.Rootless, SELinux: facts.SELinux}
}

// cutAccess takes :ro or :rw from the end of a path, unless that is how it is
// called.
func (app *App) cutAccess(text string) (path string, readOnly bool) {
	for _, access := range []string{":ro", ":rw"} {
		if path, ok := strings.CutSuffix(text, access); ok {
			if _, err := os.Lstat(app.abs(text)); err != nil {
				return path, access == ":ro"
			}
		}
	}
	return text, false
}

// parseVolume reads SOURCE:TARGET[:ro]. Paths may have colons in them: a target
// begins with /, and of several readings the one counts whose source is there.
func (app *App) parseVolume(text string) (plan.Mount, error) {
	rest, readOnly := strings.CutSuffix(text, ":ro")
	if !readOnly {
		rest = strings.TrimSuffix(rest, ":rw")
	}
	var all, there []plan.Mount
	for i := range len(rest) {
		if i == 0 || !strings.HasPrefix(rest[i:], ":/") {
			continue
		}
		one := plan.Mount{Source: app.abs(rest[:i]), Target: filepath.Clean(rest[i+1:]), ReadOnly: readOnly, Origin: "flag -v"}
		all = append(all, one)
		if _, err := os.Lstat(one.Source); err == nil {
			there = append(there, one)
		}
	}
	switch {
	case len(all) == 0:
		return plan.Mount{}, fmt.Errorf("-v %q: write SOURCE:TARGET or SOURCE:TARGET:ro, where TARGET is an absolute path in the run (a folder at its own path is --data FOLDER)", text)
	case len(there) == 1:
		return there[0], nil
	case len(there) > 1:
		return plan.Mount{}, fmt.Errorf("-v %q can be read in two ways, as %s on %s and as %s on %s: give one of them a link without a colon in its name", text, there[0].Source, there[0].Target, there[1].Source, there[1].Target)
	}
	return all[0], nil
}

// addRoots adds the machine's folders of data, at their own paths. What else
// is mounted on one of these takes its place.
func addRoots(request *plan.Request, machine *config.Config, facts engine.Facts) (warnings []string) {
	for _, root := range machine.Data {
		origin := machine.Origin["data."+root.Path]
		if facts.Remote {
			return []string{fmt.Sprintf("%s: the folders of data are this machine's, and the engine is on another: --data FOLDER mounts one that is there", origin)}
		}
		taken := root.Path == request.Project || slices.ContainsFunc(request.Mounts, func(m plan.Mount) bool { return m.Target == root.Path })
		if taken {
			continue
		}
		// One that is closed to the caller is so in the run too.
		if err := daemonOf(facts).Reach(root.Path); err != nil && !strings.Contains(err.Error(), "is closed to you") {
			warnings = append(warnings, fmt.Sprintf("%s: data: %v; runs do without it", origin, err))
			continue
		}
		request.Mounts = append(request.Mounts, plan.Mount{Source: root.Path, Target: root.Path, ReadOnly: root.ReadOnly, Origin: origin})
	}
	return warnings
}

// closeBelow makes "read-only" mean all of a folder also where other file
// systems are mounted in it: an engine before Docker 25 closes the topmost one
// alone.
func closeBelow(mounts []plan.Mount) []plan.Mount {
	var closed []plan.Mount
	for _, m := range mounts {
		closed = append(closed, m)
		real, err := filepath.EvalSymlinks(m.Source)
		if !m.ReadOnly || err != nil {
			continue
		}
		for _, path := range view.Below(real) {
			target := filepath.Join(m.Target, strings.TrimPrefix(path, real))
			if !slices.ContainsFunc(mounts, func(m plan.Mount) bool { return m.Target == target }) {
				closed = append(closed, plan.Mount{Source: path, Target: target, ReadOnly: true, Origin: m.Origin})
			}
		}
	}
	return closed
}

// viewOf is what a run of request sees of this machine.
func viewOf(request *plan.Request) view.View {
	var v view.View
	home := request.HomeDir
	if home == "" {
		home = request.Account.Home
	}
	for _, folder := range []string{request.Project, home} {
		if folder != "" && folder != "/" {
			v = append(v, view.Mount{Source: folder, Target: folder})
		}
	}
	for _, m := range request.Mounts {
		v = append(v, view.Mount{Source: m.Source, Target: m.Target})
	}
	return v
}

// checkData refuses what the engine could not show the run, and a word of the
// command that names what the run would not see; of links that lead there it
// warns.
func (app *App) checkData(o *runOptions, request *plan.Request, facts engine.Facts) (warnings []string, err error) {
	daemon := daemonOf(facts)
	var errs []error
	for _, m := range request.Mounts {
		if strings.HasPrefix(m.Origin, "flag ") {
			if err := daemon.Reach(m.Source); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", strings.TrimPrefix(m.Origin, "flag "), err))
			}
		}
	}
	if request.Project != "" {
		if err := daemon.Reach(request.Project); err != nil {
			errs = append(errs, fmt.Errorf("the project: %w", err))
		}
	}
	if len(errs) > 0 || slices.Contains(o.data, noData) {
		return nil, errors.Join(errs...)
	}
	sight := viewOf(request)
	for _, word := range request.Command[1:] {
		if path, missing := unseen(sight, word, app.startsIn(request)); missing != "" {
			return nil, fmt.Errorf("%s is on this machine and not in the run's sight: mount it with --data %s (at its own path; :ro behind it closes it for writing), or leave all as it is with --data none",
				path, plan.Quote(missing))
		}
	}
	if request.Project == "" {
		return nil, nil
	}
	links, whole := sight.Links(request.Project)
	if len(links) > 0 {
		warnings = append(warnings, linkWarning(links))
	}
	if !whole {
		warnings = append(warnings, fmt.Sprintf("links that lead out of the project were looked for among its first %d files alone (%s at most); --data FOLDER mounts what they lead to", view.MaxEntries, view.MaxTime))
	}
	return warnings, nil
}

// startsIn is the folder in which the run starts, as far as it is this
// machine's; else "".
func (app *App) startsIn(request *plan.Request) string {
	if request.Project != "" && within(app.Dir, request.Project) {
		return app.Dir
	}
	return request.Project
}

// unseen tells whether a word of the command names a file or folder of this
// machine that the run does not see: PATH or --option=PATH. /tmp itself is
// the run's own.
func unseen(sight view.View, word, dir string) (path, missing string) {
	if strings.HasPrefix(word, "-") {
		_, word, _ = strings.Cut(word, "=")
	}
	if word == "" || strings.ContainsRune(word, 0) || len(word) > 4096 {
		return "", ""
	}
	if path = word; !filepath.IsAbs(word) {
		if dir == "" {
			return "", ""
		}
		path = filepath.Join(dir, word)
	}
	if _, err := os.Stat(path); err != nil {
		return "", ""
	}
	if missing = sight.Missing(path); missing == "" || missing == plan.TmpPath || missing == "/var/tmp" {
		return "", ""
	}
	return word, missing
}

func linkWarning(links []view.Link) string {
	others := ""
	switch n := len(links) - 1; {
	case n == 1:
		others = " (and one more link)"
	case n > 1:
		others = fmt.Sprintf(" (and %d more links)", n)
	}
	var flags []string
	for _, folder := range view.Folders(links) {
		flags = append(flags, "--data "+plan.Quote(folder))
	}
	return fmt.Sprintf("%s leads out of the project to %s, which the run does not see%s: mount it with %s, or for every run under data in config.yaml",
		links[0].Path, links[0].Missing, others, strings.Join(flags, " "))
}
