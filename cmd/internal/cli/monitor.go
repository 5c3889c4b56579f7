package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/internal/login"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/inside/binary"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/plan"
)

// newMonitorCmd is the process that owns a run. crun run starts it; nobody
// else needs to.
func newMonitorCmd(app *App) *cobra.Command {
	var adopt bool
	cmd := &cobra.Command{
		Use:     "monitor ID",
		Short:   "Own a run (started by crun run)",
		Example: "  crun monitor --adopt 06c3k8p2v9qa",
		Hidden:  true,
		Args:    runArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// What ends a terminal or its programs is not for us; SIGTERM, as
			// a shutdown sends it, ends the monitor at once, and the next
			// command takes the run up.
			signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
			signal.Reset(syscall.SIGTERM)
			store, err := app.openStore()
			if err != nil {
				return err
			}
			left := make(chan struct{})
			go func() {
				defer close(left)
				if err := login.Leave(cmd.Context(), args[0]); err != nil {
					fmt.Fprintln(app.Err, "crun:", err) // into monitor.log
				}
			}()
			open := func(ctx context.Context, ref json.RawMessage) (engine.Engine, error) {
				if overSSH(ref) {
					<-left // a child made before would stay in the login
				}
				return app.engineAt(ctx, ref)
			}
			server := &monitor.Server{Store: store, Open: open, Files: initFiles, Notify: app.notify}
			return server.Serve(context.WithoutCancel(cmd.Context()), args[0], adopt)
		},
	}
	cmd.Flags().BoolVar(&adopt, "adopt", false, "take up a run whose monitor died")
	return cmd
}

// overSSH tells whether the engine that a record names is reached by a program
// of its own.
func overSSH(ref json.RawMessage) bool {
	var ep endpoint.Endpoint
	if json.Unmarshal(ref, &ep) != nil {
		return false
	}
	command, _ := ep.SSH()
	return command != ""
}

// initFiles are what every container is given: init and what it has to check.
// The folder is the run's own, since init writes its report there.
func initFiles(p *plan.Plan, arch string) ([]engine.File, error) {
	expect, err := json.Marshal(inside.Expect(p))
	if err != nil {
		return nil, err
	}
	uid, gid := int(p.Spec.Process.User.UID), int(p.Spec.Process.User.GID)
	return []engine.File{
		{Path: inside.InitPath, Mode: 0o755, UID: uid, GID: gid, Name: initName(arch), Load: func() ([]byte, error) { return binary.Init(arch) }},
		{Path: inside.ExpectPath, Mode: 0o644, UID: uid, GID: gid, Data: expect},
	}, nil
}

// initName names the init that is in this program, or is "" where that cannot
// be told.
func initName(arch string) string {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("init-%s-%x-%x-%x-%x", arch, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano())
}
