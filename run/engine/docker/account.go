package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

const (
	passwdPath = "/etc/passwd"
	groupPath  = "/etc/group"
)

// accounts are the files that name users and groups, nil where the image has
// none.
type accounts struct {
	Passwd []byte `json:"passwd"`
	Group  []byte `json:"group"`
}

// accountFiles gives the files that make the container know the plan's
// account: none where the image knows it already.
func (e *Engine) accountFiles(ctx context.Context, id string, p *plan.Plan) ([]engine.File, error) {
	if p.Account.User == "" && len(p.Account.Groups) == 0 {
		return nil, nil
	}
	have, err := e.imageAccounts(ctx, id, p.Image.ID)
	if err != nil {
		return nil, err
	}
	var files []engine.File
	if data, changed := extendPasswd(have.Passwd, p.Account); changed {
		files = append(files, engine.File{Path: passwdPath, Mode: 0o644, Data: data})
	}
	if data, changed := extendGroup(have.Group, p.Account); changed {
		files = append(files, engine.File{Path: groupPath, Mode: 0o644, Data: data})
	}
	return files, nil
}

// imageAccounts reads the files of the image, from the container made of it,
// once an image.
func (e *Engine) imageAccounts(ctx context.Context, id, imageID string) (accounts, error) {
	if have, ok := e.cache.get(imageID); ok {
		return have, nil
	}
	var have accounts
	for path, to := range map[string]*[]byte{passwdPath: &have.Passwd, groupPath: &have.Group} {
		data, err := e.ReadFile(ctx, id, path)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return accounts{}, err
		}
		*to = data
	}
	e.cache.put(imageID, have)
	return have, nil
}

// extendPasswd adds a line for the account where no line has its uid.
func extendPasswd(passwd []byte, a plan.Account) ([]byte, bool) {
	if a.User == "" || hasID(passwd, a.UID) {
		return passwd, false
	}
	name := freeName(passwd, a.User, a.UID)
	home := field(a.Home)
	if home == "" {
		home = "/"
	}
	return addLines(passwd, fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh", name, a.UID, a.GID, field(a.User), home)), true
}

// extendGroup adds a line for each of the account's groups whose gid no line
// has. Membership itself is the process's, not the file's.
func extendGroup(group []byte, a plan.Account) ([]byte, bool) {
	changed := false
	for _, g := range a.Groups {
		if g.Name == "" || hasID(group, g.GID) {
			continue
		}
		group = addLines(group, fmt.Sprintf("%s:x:%d:", freeName(group, g.Name, g.GID), g.GID))
		changed = true
	}
	return group, changed
}

// hasID tells whether a line of passwd or group has this number, which is the
// third field in both.
func hasID(file []byte, id uint32) bool {
	for line := range bytes.Lines(file) {
		fields := strings.SplitN(string(bytes.TrimSpace(line)), ":", 4)
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if n, err := strconv.ParseUint(fields[2], 10, 32); err == nil && uint32(n) == id {
			return true
		}
	}
	return false
}

// freeName is name, or where the image has it for another number, name-ID: a
// name that stands twice would be found by the first number alone. In front it
// has nothing that would make the line a remark or, to a libc in its "compat"
// mode, an instruction.
func freeName(file []byte, name string, id uint32) string {
	if name = strings.TrimLeft(field(name), "+-@#"); name == "" {
		return fmt.Sprintf("id-%d", id)
	}
	for line := range bytes.Lines(file) {
		if taken, _, _ := strings.Cut(string(line), ":"); taken == name {
			return fmt.Sprintf("%s-%d", name, id)
		}
	}
	return name
}

// field leaves out what would end a field or a line.
func field(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

func addLines(file []byte, line string) []byte {
	file = bytes.Clone(file)
	if len(file) > 0 && file[len(file)-1] != '\n' {
		file = append(file, '\n')
	}
	return append(append(file, line...), '\n')
}

// accountCache keeps the account files of images, in memory and in a folder.
// An image's id is the digest of what it holds, so nothing here grows old.
type accountCache struct {
	dir string
	mem sync.Map // image id to accounts
}

// file is where an image's accounts are kept, or "".
func (c *accountCache) file(imageID string) string {
	name := strings.TrimPrefix(imageID, "sha256:")
	if c.dir == "" || len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return ""
	}
	return filepath.Join(c.dir, "accounts-"+name+".json")
}

func (c *accountCache) get(imageID string) (accounts, bool) {
	if have, ok := c.mem.Load(imageID); ok {
		return have.(accounts), true
	}
	var have accounts
	file := c.file(imageID)
	if file == "" {
		return have, false
	}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &have) != nil {
		return have, false
	}
	c.mem.Store(imageID, have)
	return have, true
}

// put keeps what it can: without the file the next process asks the engine.
func (c *accountCache) put(imageID string, have accounts) {
	if imageID == "" {
		return
	}
	c.mem.Store(imageID, have)
	if file := c.file(imageID); file != "" {
		if data, err := json.Marshal(have); err == nil {
			keepFile(file, data)
		}
	}
}

// keepFile keeps data in the cache folder where it can.
func keepFile(path string, data []byte) {
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	// A file of its own and a rename: two runs may start at once.
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(data)
	if errors.Join(err, tmp.Close()) != nil || os.Rename(tmp.Name(), path) != nil {
		os.Remove(tmp.Name())
	}
}
