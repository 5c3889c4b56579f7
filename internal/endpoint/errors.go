package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrUnreachable is what every *Error is.
var ErrUnreachable = errors.New("engine not reachable")

// Error is an engine that cannot be reached: one sentence that names the
// engine, why it is this one, what is wrong and the remedy.
type Error struct {
	message string
	cause   error
}

func (e *Error) Error() string        { return e.message }
func (e *Error) Unwrap() error        { return e.cause }
func (e *Error) Is(target error) bool { return target == ErrUnreachable }

// Explain turns the failure of a connection to the engine into an *Error, or
// finds the one that DialContext gave under what clients put around it. An end
// of file counts as one: it is for errors of calls, not of streams. What it
// does not know, an error of the engine itself or the end of a context
// among them, it returns as it is.
func (ep Endpoint) Explain(err error) error {
	var done *Error
	if errors.As(err, &done) {
		return done
	}
	// A network's timeout calls itself context.DeadlineExceeded too.
	var network *net.OpError
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		return err
	}
	if message := ep.explain(err); message != "" {
		return &Error{message: message, cause: err}
	}
	return err
}

func (ep Endpoint) explain(err error) string {
	text := err.Error()
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	var network net.Error
	switch {
	case strings.Contains(text, "command [ssh ") && strings.Contains(text, " has exited with "):
		_, stderr, _ := strings.Cut(text, "stderr=")
		return ep.explainSSH(strings.TrimSpace(stderr))
	case errors.Is(err, os.ErrNotExist) && strings.HasPrefix(ep.Host, "ssh:"):
		return fmt.Sprintf("the engine at %s needs the program ssh, which is not installed: install it (openssh-client)", ep)
	case errors.Is(err, os.ErrPermission):
		return ep.explainPermission()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("the engine at %s does not run: %s", ep, ep.startRemedy())
	case errors.Is(err, syscall.ENOTSOCK), errors.Is(err, syscall.EPROTOTYPE):
		return fmt.Sprintf("the engine's address %s is no stream socket: correct it", ep)
	case errors.As(err, &dns):
		return fmt.Sprintf("the engine at %s cannot be found: the name %s does not resolve (%s); correct it%s", ep, dns.Name, dns.Err, ep.otherwise())
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("the engine at %s cannot be reached: there is no way to that host; check the network, or the VPN%s", ep, ep.otherwise())
	case errors.As(err, &verify):
		return fmt.Sprintf("the engine at %s shows a certificate that is not trusted (%v): put its authority into %s", ep, verify.Err, ep.caFile())
	case strings.Contains(text, "first record does not look like a TLS handshake"),
		strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("the engine at %s does not speak TLS, and TLS is asked for: unset DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH, or use the engine's TLS port (2376 as a rule)", ep)
	case strings.Contains(text, "malformed HTTP response"),
		strings.Contains(text, "Client sent an HTTP request to an HTTPS server"):
		return fmt.Sprintf("the engine at %s speaks TLS: set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder of ca.pem, cert.pem and key.pem", ep)
	case strings.Contains(text, "tls: bad certificate"), strings.Contains(text, "tls: certificate required"),
		strings.Contains(text, "tls: unknown certificate"), strings.Contains(text, "tls: expired certificate"):
		return fmt.Sprintf("the engine at %s refuses your certificate (%s): put cert.pem and key.pem that it accepts into %s", ep, lastPart(text), ep.certDir())
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("the engine at %s does not answer: check that it runs and that no firewall is between%s", ep, ep.otherwise())
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the engine at %s has closed the connection: see whether it was restarted (%s)", ep, ep.logRemedy())
	}
	return ""
}

// NoAnswer is the error of an engine that takes a connection and then says
// nothing; err is how the wait for it ended.
func (ep Endpoint) NoAnswer(err error) error {
	return &Error{cause: err, message: fmt.Sprintf("the engine at %s takes connections but does not answer: see what it does (%s), then restart it", ep, ep.logRemedy())}
}

// String is the endpoint as messages name it: the address, and behind it
// where it comes from.
func (ep Endpoint) String() string {
	if ep.Source == "" || ep.Source == "default" {
		return ep.Host
	}
	return ep.Host + " (from " + ep.Source + ")"
}

// startRemedy says how an engine is started, and how another one is chosen.
func (ep Endpoint) startRemedy() string {
	socket, local := strings.CutPrefix(ep.Host, "unix://")
	switch {
	case local && (socket == systemSocket || socket == "/run/docker.sock"):
		return `start it with "sudo systemctl start docker" (install it first where it is not: on Debian "sudo apt install docker.io")` + ep.otherwise()
	case local && strings.HasPrefix(socket, "/run/user/"):
		return `start it with "systemctl --user start docker"` + ep.otherwise()
	}
	return "start it" + ep.otherwise()
}

// otherwise says how another engine is chosen, with a comma before it.
func (ep Endpoint) otherwise() string {
	variable, _, _ := strings.Cut(ep.Source, " ")
	switch variable {
	case "DOCKER_HOST", "DOCKER_CONTEXT":
		return ", or unset " + variable + " to use this machine's"
	case "context":
		return `, or choose another with "docker context use"`
	}
	return ", or name another with --host, --context or DOCKER_HOST"
}

func (ep Endpoint) logRemedy() string {
	switch {
	case ep.Remote:
		return `"journalctl -u docker" there`
	case strings.HasPrefix(ep.Host, "unix:///run/user/"):
		return `"journalctl --user -u docker"`
	}
	return `"journalctl -u docker"`
}

// explainPermission tells why a socket may not be used. The group that owns
// it is as good as root, and whoever joins it should know.
func (ep Endpoint) explainPermission() string {
	who, login := "you", "$USER"
	caller, err := user.Current()
	if err == nil {
		who, login = caller.Username, caller.Username
	}
	start := fmt.Sprintf("%s may not use the engine at %s", who, ep)
	rootless := "a rootless engine of your own needs neither (docs.docker.com/go/rootless)"
	var stat syscall.Stat_t
	if syscall.Stat(strings.TrimPrefix(ep.Host, "unix://"), &stat) != nil || stat.Mode&0o060 != 0o060 || stat.Gid == 0 {
		return start + ": ask whoever runs it for access; " + rootless
	}
	gid := strconv.Itoa(int(stat.Gid))
	name := gid
	if group, err := user.LookupGroupId(gid); err == nil {
		name = group.Name
	}
	if caller != nil {
		if ids, err := caller.GroupIds(); err == nil && slices.Contains(ids, gid) {
			return fmt.Sprintf("%s: this login does not have the group %s yet, which %s is in; log in again, or run \"newgrp %s\"", start, name, who, name)
		}
	}
	return fmt.Sprintf("%s: not in the group %s, which owns the socket; \"sudo usermod -aG %s %s\" and a new login change that, and make %s root on this machine; %s",
		start, name, name, login, who, rootless)
}

func (ep Endpoint) explainSSH(stderr string) string {
	command, target := ep.SSH()
	lines := strings.Split(stderr, "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if strings.Contains(stderr, "docker: command not found") || strings.Contains(stderr, "docker: not found") {
		return fmt.Sprintf("the engine at %s cannot be reached: that machine has no docker command, which ssh connections go through; install the Docker client there", ep)
	}
	if last == "" {
		last = "ssh gave no reason"
	}
	return fmt.Sprintf("the engine at %s cannot be reached over ssh: %s; make \"%s %s docker version\" work first", ep, last, command, target)
}

// SSH gives the ssh command that leads to the engine's machine ("ssh -p 2222"),
// and that machine as ssh names it ("ann@lab"); both are "" where the address is
// of another kind.
func (ep Endpoint) SSH() (command, target string) {
	u, err := url.Parse(ep.Host)
	if err != nil || u.Scheme != "ssh" {
		return "", ""
	}
	command, target = "ssh", u.Hostname()
	if u.Port() != "" {
		command += " -p " + u.Port()
	}
	if user := u.User.Username(); user != "" {
		target = user + "@" + target
	}
	return command, target
}

func (ep Endpoint) caFile() string { return ep.certDir() + "/ca.pem" }

func (ep Endpoint) certDir() string {
	if ep.TLS != nil && ep.TLS.CA != "" {
		return strings.TrimSuffix(ep.TLS.CA, "/ca.pem")
	}
	return "the folder that DOCKER_CERT_PATH names"
}

// lastPart is what stands behind the last colon but one: "tls: bad
// certificate" of "Get ...: remote error: tls: bad certificate".
func lastPart(text string) string {
	parts := strings.Split(text, ": ")
	return strings.Join(parts[max(0, len(parts)-2):], ": ")
}
