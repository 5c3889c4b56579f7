package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/yamlfile"
	"crun.dev/crun/run/notify"
)

// Values of notify.on.
const (
	NotifyAlways  = "always"
	NotifyFailure = "failure"
)

// notifyCommand reads a list, [PROGRAM, ARGUMENT, ...]: no shell is between.
func (r *reader) notifyCommand(path string, node *yaml.Node) {
	r.list(&r.config.Notify.Command, func(text string) error { return nil })(path, node)
	if all := r.config.Notify.Command; len(all) > 0 && !filepath.IsAbs(all[0]) {
		r.errorf(node, "%s begins with %q; write the absolute path of a program, and its arguments behind it: [/usr/bin/mail, -s, crun, ann]", path, all[0])
	} else if len(all) == 0 && yamlfile.Resolve(node).Kind == yaml.SequenceNode {
		r.errorf(node, "%s is empty; write [PROGRAM, ARGUMENT...], or leave it out", path)
	}
}

func checkBody(text string) error {
	return notify.CheckBody(text)
}

func checkOn(text string) error {
	if text != NotifyAlways && text != NotifyFailure {
		return errors.New("is not known; allowed are always and failure")
	}
	return nil
}

// checkNotify holds the file at path to what notify needs: it is a user's own,
// for its command runs as the user, and a webhook is a secret.
func (c *Config) checkNotify(path string, system bool) []error {
	var errs []error
	if system && (len(c.Notify.Command) > 0 || c.Notify.Webhook != "") {
		errs = append(errs, fmt.Errorf("%s: notify is for a user's own config.yaml: what it names runs and speaks in the user's name", path))
		c.Notify = Notify{}
	}
	if info, err := os.Stat(path); c.Notify.Webhook != "" && err == nil && info.Mode().Perm()&0o077 != 0 {
		errs = append(errs, fmt.Errorf("%s: notify.webhook is a secret, and others may read this file: chmod 600 %s", path, path))
	}
	return errs
}
