package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/monitor"
	"crun.dev/crun/run/notify"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why"
)

// notify tells of the end of a run whom the user's config names.
func (app *App) notify(ctx context.Context, r *record.Record, p *plan.Plan, s *record.State) error {
	machine, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	to := machine.Notify
	m := endMessage(p, s)
	if len(to.Command) == 0 && to.Webhook == "" || to.On == config.NotifyFailure && !m.Failed {
		return monitor.ErrNobody
	}
	addVerdict(&m, r, p, s)
	return notify.Send(ctx, notify.Target{
		Command: to.Command, Webhook: to.Webhook, Body: to.Body,
		HTTPProxy: machine.Proxy.HTTP, HTTPSProxy: machine.Proxy.HTTPS, NoProxy: machine.Proxy.No, CA: machine.CA,
	}, m)
}

// addVerdict adds why the run ended, where its record tells.
func addVerdict(m *notify.Message, r *record.Record, p *plan.Plan, s *record.State) {
	c, _, err := why.Load(r)
	if err != nil {
		return
	}
	v := why.Draw(c)
	m.Code, m.Why, m.Sure, m.Fix = v.Code, v.Cause.In(false), string(v.Sure), v.Fix.In(false)
	if m.Failed && s.Phase == record.Ended {
		m.Text = fmt.Sprintf("%s: %s; %s", endHead(p, s), m.Why, m.Fix)
	}
}

func endMessage(p *plan.Plan, s *record.State) notify.Message {
	text, clean := describeEnd(p, s)
	summary := record.Summarize(p)
	m := notify.Message{
		Text: strings.TrimSuffix(text, logHint(p)), Run: p.Name, ID: p.ID, User: p.Account.User,
		Project: p.Project, Profile: p.Profile, Image: summary.Image, Command: summary.Command,
		Cause: stateText(s), Failed: !clean, ExitCode: s.ExitCode, Signal: s.Signal,
		Started: s.Started, Finished: s.Finished, Seconds: s.Elapsed(s.Finished).Seconds(),
		MemoryPeak: s.MemoryPeak, MemoryLimit: summary.MemoryLimit, Attempts: len(s.Attempts) + 1,
	}
	m.Host, _ = os.Hostname() // or it is left empty
	return m
}
