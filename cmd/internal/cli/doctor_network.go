package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/probe"
	"crun.dev/crun/cmd/internal/config"
)

// proxy compares the engine's proxy, through which it pulls images, with the
// one of builds.
func (x *examination) proxy(facts buildkit.EngineFacts) {
	ours := cmp.Or(x.cfg.Proxy.HTTPS, x.cfg.Proxy.HTTP)
	engines := cmp.Or(facts.Proxy.HTTPS, facts.Proxy.HTTP)
	switch {
	case ours == "" && engines == "":
		x.add(check{What: "proxy", Level: levelOK, Text: "none, for builds and for the engine"})
	case engines == "":
		x.add(check{What: "proxy", Level: levelWarning,
			Text: fmt.Sprintf("builds go through %s (%s), the engine, which pulls base images, through none", config.Redact(ours), x.proxyOrigin()),
			Remedy: "where the engine does not reach the registry, write into /etc/systemd/system/docker.service.d/proxy.conf:\n" +
				"[Service]\nEnvironment=\"HTTPS_PROXY=" + config.Redact(ours) + "\" \"NO_PROXY=localhost,127.0.0.1\"\n" +
				"and run: systemctl daemon-reload && systemctl restart docker"})
	case ours == "":
		x.add(check{What: "proxy", Level: levelWarning,
			Text:   fmt.Sprintf("the engine pulls base images through %s, builds go through none", config.Redact(engines)),
			Remedy: "where builds need it too, write proxy: {https: \"" + config.Redact(engines) + "\"} into " + x.app.configFile()})
	case strings.TrimRight(ours, "/") != strings.TrimRight(engines, "/"):
		x.add(check{What: "proxy", Level: levelOK,
			Text: fmt.Sprintf("builds go through %s (%s), the engine, which pulls base images, through %s", config.Redact(ours), x.proxyOrigin(), config.Redact(engines))})
	default:
		x.add(check{What: "proxy", Level: levelOK, Text: config.Redact(ours) + " for builds and for the engine"})
	}
}

func (x *examination) proxyOrigin() string {
	return cmp.Or(x.cfg.Origin["proxy.https"], x.cfg.Origin["proxy.http"], "a tool's own file")
}

// network tries what a build of the environment file here fetches from.
func (x *examination) network(ctx context.Context) error {
	env := &environment.Environment{}
	base := cmp.Or(x.cfg.Base, build.DefaultBase)
	toolbox := cmp.Or(x.cfg.ToolboxBase, build.DefaultBase)
	file, err := build.FindFile(x.app.rel("."))
	switch {
	case err == nil:
		project, err := build.Open(file, build.Options{Base: base, ToolboxBase: toolbox, Platform: "linux-64", Miniconda: true})
		if err != nil {
			return err
		}
		env = project.Environment
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	sources, err := x.app.sourcesOf(x.cfg, nil)
	if err != nil {
		return err
	}
	d := &build.Doctor{
		Solver: x.solver, Images: x.engine, Reach: x.engine.Reach, Sources: sources, Environment: env,
		Base: base, ToolboxBase: toolbox, Platform: x.platform(ctx), Limit: x.o.timeout,
	}
	err = d.Network(ctx, func(t build.Tried) { x.add(triedCheck(t)) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	x.add(check{What: "build", Level: levelError, Text: "the sources cannot be tried from inside a build: " + err.Error()})
	return nil
}

// remedies are what to do about a failure, where it is not another source.
var remedies = map[probe.Kind]string{
	probe.Certificate: "name the authority that signed it: ca: /PATH/TO/AUTHORITY.pem",
	probe.Login:       "the login is missing or wrong: .netrc, .condarc, pip.conf, the address in config.yaml, or docker login for images",
	probe.ProxyLogin:  "give the proxy its user and password: proxy: {https: \"http://USER:PASSWORD@HOST:PORT\"}",
	probe.Missing:     "the address is wrong, or its mirror does not have it",
}

func triedCheck(t build.Tried) check {
	c := check{What: t.Kind, Level: levelOK, Tried: &t}
	where := map[string]string{"host": "from here", "build": "from inside a build", "engine": "by the engine"}[t.From]
	place := t.Name
	if t.Address != "" && t.Address != t.Name {
		place += " at " + t.Address
	}
	c.Text = fmt.Sprintf("%s, %s: %s (%.1f s)", place, where, t.Reason, t.Seconds)
	if !t.OK {
		c.Level, c.Remedy = levelError, remedies[t.Problem]
	}
	return c
}

// lines are the lines of config.yaml that would send what failed elsewhere.
func (x *examination) lines(tried []build.Tried) string {
	root := map[string]any{}
	set := func(value any, key ...string) {
		at := root
		for _, part := range key[:len(key)-1] {
			next, ok := at[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
		at[key[len(key)-1]] = value
	}
	for _, t := range tried {
		switch {
		case t.OK:
		case t.Problem == probe.Certificate:
			set("/PATH/TO/AUTHORITY.pem", "ca")
		case t.Problem == probe.ProxyLogin:
			set("http://USER:PASSWORD@HOST:PORT", "proxy", "https")
		case len(t.Key) > 0 && t.Problem != probe.Login:
			value := any("https://MIRROR/" + strings.TrimPrefix(t.Name, "https://"))
			switch {
			case t.Key[1] == "registry":
				value = "MIRROR"
			case t.Key[len(t.Key)-1] == "index_url":
				value = "https://MIRROR/simple"
			case t.Key[len(t.Key)-1] == "extra_index_urls":
				value = []string{"https://MIRROR/simple"}
			}
			set(value, t.Key...)
			if x.cfg.Proxy.HTTPS == "" && t.Problem == probe.Unreachable && t.Kind != "image" {
				set("http://HOST:PORT", "proxy", "https")
			}
		}
	}
	if len(root) == 0 {
		return ""
	}
	data, err := yaml.Marshal(root)
	if err != nil {
		return ""
	}
	return string(data)
}
