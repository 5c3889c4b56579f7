package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"crun.dev/crun/run/engine"
)

// knownFacts are what a daemon has told, as the cache folder keeps it.
type knownFacts struct {
	Of    string       `json:"of"` // who has told it, see daemonKey
	Facts engine.Facts `json:"facts"`
}

// KnownFacts is Facts as the same daemon, on this machine, has told them
// before: an engine starts programs to answer, which takes as long as all else
// that a run asks of it. What may change while a daemon lives is asked for
// anew or is not there: limits of the daemon's process, swap, the time. Of GPUs
// it tells what there was then.
func (e *Engine) KnownFacts(ctx context.Context) (engine.Facts, error) {
	if err := e.connect(ctx); err != nil {
		return engine.Facts{}, err
	}
	key := machine{}.daemonKey(e.ep.Host, e.api.ClientVersion())
	file := e.knownFile()
	if key == "" || file == "" {
		return e.Facts(ctx)
	}
	var known knownFacts
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &known) == nil && known.Of == key {
		facts := localFacts{known.Facts}
		facts.addLimits(e.ep, machine{})
		e.rootless.Store(facts.Rootless)
		return facts.Facts, nil
	}
	facts, err := e.Facts(ctx)
	if err != nil || facts.Remote || facts.Name == "Podman" { // whose service comes and goes
		return facts, err
	}
	known = knownFacts{Of: key, Facts: facts}
	known.Facts.Time = engine.Facts{}.Time
	if data, err := json.Marshal(known); err == nil {
		keepFile(file, data)
	}
	return facts, nil
}

// knownFile is where the facts of this endpoint are kept, or "".
func (e *Engine) knownFile() string {
	if e.cache.dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(e.ep.Host))
	return filepath.Join(e.cache.dir, "facts-"+hex.EncodeToString(sum[:8])+".json")
}

// daemonConfigs are files that a daemon reads again when it is told to.
var daemonConfigs = []string{"/etc/docker/daemon.json", "$HOME/.config/docker/daemon.json"}

// daemonKey names the process behind a socket, with all that its facts depend
// on; "" where that cannot be told.
func (m machine) daemonKey(host, api string) string {
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "unix" {
		return ""
	}
	pid := m.daemon(strings.TrimPrefix(host, "unix://"))
	if pid <= 1 {
		return ""
	}
	stat, err := os.ReadFile(m.root + "/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name, in brackets, may hold anything; proc_pid_stat(5) counts from 1.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	hostname, _ := os.Hostname()
	parts := []string{host, api, hostname, strconv.Itoa(pid), fields[19]}
	// Another crun may ask for more.
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	parts = append(parts, fmt.Sprint(self.ModTime().UnixNano(), self.Size()))
	for _, file := range []string{"/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online"} {
		data, err := os.ReadFile(m.root + file)
		if err != nil {
			return ""
		}
		parts = append(parts, strings.TrimSpace(string(data)))
	}
	parts = append(parts, strconv.FormatInt(m.memory("MemTotal"), 10))
	for _, file := range daemonConfigs {
		info, err := os.Stat(m.root + os.ExpandEnv(file))
		if err != nil {
			parts = append(parts, "none")
			continue
		}
		parts = append(parts, fmt.Sprint(info.ModTime().UnixNano(), info.Size()))
	}
	return strings.Join(parts, " ")
}
