package cli

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// withDockerProxy takes the proxy that the caller's ~/.docker/config.json has
// for containers, where neither config.yaml nor a variable names one.
func withDockerProxy(cfg *config.Config, engine string) {
	if cfg.Proxy.HTTP != "" || cfg.Proxy.HTTPS != "" {
		return
	}
	found := buildkit.DockerProxy(engine)
	if found.HTTP == "" && found.HTTPS == "" {
		return
	}
	cfg.Proxy = config.Proxy{HTTP: found.HTTP, HTTPS: found.HTTPS, No: cmp.Or(cfg.Proxy.No, found.No)}
	cfg.Origin["proxy.http"], cfg.Origin["proxy.https"] = "~/.docker/config.json", "~/.docker/config.json"
}

// carryProxy gives a run the machine's proxy, where the profile and the command
// line say nothing of one. Its values are secrets, for they may hold a password:
// the record has the names alone.
func (app *App) carryProxy(j *job, request *plan.Request, cfg *config.Config, facts engine.Facts) {
	network := plan.NetworkDefault
	if request.Limits.Network != nil {
		network = *request.Limits.Network
	}
	if network == plan.NetworkNone {
		return
	}
	for _, v := range slices.Concat(request.Env, request.Limits.Env) {
		switch strings.ToLower(v.Name) {
		case "http_proxy", "https_proxy", "all_proxy":
			return
		}
	}
	withDockerProxy(cfg, facts.Endpoint)
	place := runPlace{hostNetwork: network == plan.NetworkHost, remote: facts.Remote, rootless: facts.Rootless, gateway: bridgeGateway, listens: listens}
	set := false
	add := func(name, value string) {
		for _, name := range []string{name, strings.ToLower(name)} {
			request.Env = append(request.Env, plan.EnvVar{Name: name, FromHost: true})
			j.secrets[name] = value
		}
		set = true
	}
	told := false
	for _, proxy := range []struct{ name, key, address string }{
		{"HTTP_PROXY", "proxy.http", cfg.Proxy.HTTP}, {"HTTPS_PROXY", "proxy.https", cfg.Proxy.HTTPS},
	} {
		if proxy.address == "" {
			continue
		}
		address, why := place.reach(proxy.address)
		if address != "" {
			add(proxy.name, address)
		} else if !told {
			told = true
			j.warnings = append(j.warnings, fmt.Sprintf("the proxy of %s is not set in the run: %s", cmp.Or(cfg.Origin[proxy.key], "config.yaml"), why))
		}
	}
	if set && cfg.Proxy.No != "" {
		add("NO_PROXY", cfg.Proxy.No)
	}
}

// runPlace is from where a run looks at the network.
type runPlace struct {
	hostNetwork, remote, rootless bool
	// gateway is the address of the engine's host within the run's network, ""
	// where nobody knows; listens tells whether something answers at an address.
	gateway func() string
	listens func(address string) bool
}

// reach gives the address by which a run reaches a proxy, or says why none does.
func (p runPlace) reach(proxy string) (address, why string) {
	text := proxy
	if !strings.Contains(text, "://") {
		text = "http://" + text // as curl and pip take one
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", "its address cannot be read"
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); !loopback {
		return proxy, ""
	}
	if p.remote {
		return "", "it listens on this machine alone (" + u.Host + "), and the engine is on another"
	}
	if p.hostNetwork {
		return proxy, ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme], "1080")
	if gateway := p.gateway(); gateway != "" && !p.rootless {
		if inside := net.JoinHostPort(gateway, port); p.listens(inside) {
			u.Host = inside
			return u.String(), ""
		}
		return "", fmt.Sprintf("it listens on %s alone, which a container cannot reach: let it listen on %s too (in many clients \"allow LAN\"), or use --network host",
			u.Host, net.JoinHostPort(gateway, port))
	}
	return "", "it listens on " + u.Host + " alone, which a container cannot reach: use --network host"
}

// bridgeGateway is this machine's address in the engine's default network.
func bridgeGateway() string {
	bridge, err := net.InterfaceByName("docker0")
	if err != nil {
		return ""
	}
	addresses, _ := bridge.Addrs()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr().Is4() {
			return prefix.Addr().String()
		}
	}
	return ""
}

// listens waits no longer than a run's start can bear; the address is this
// machine's own.
func listens(address string) bool {
	connection, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
