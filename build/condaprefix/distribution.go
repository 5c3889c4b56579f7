package condaprefix

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/names"
)

// Distribution is a Python package that pip, or another installer that is not
// conda, put into the environment.
type Distribution struct {
	// Name is in the form of names.Distribution.
	Name, Version string
	// Requested says that a person named it; pip leaves a mark since 20.2.
	Requested bool
	// Requires are the names of what it requires, without extras.
	Requires []string
	// Address is where a pip requirement can get it when it did not come from
	// an index: "git+https://HOST/REPO@COMMIT", "https://HOST/FILE"; or "".
	Address string
	// Folder is the absolute path of the folder or file on this machine that it
	// was installed from, or "". Editable says that it is used from there.
	Folder   string
	Editable bool
}

// maxMetadata bounds a file of metadata, in bytes. The longest real ones, with
// a project's whole readme, have some 300 KB.
const maxMetadata = 4 << 20

// readDistributions reads the site-packages of the environment's Python.
func (p *Prefix) readDistributions(fsys fs.FS, owner map[string]bool) error {
	site, err := sitePackages(fsys)
	if site == "" || err != nil {
		return err
	}
	entries, err := fs.ReadDir(fsys, site)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		file := path.Join(site, entry.Name())
		var d *Distribution
		switch path.Ext(file) {
		case ".dist-info", ".egg-info":
			if owner[file] {
				continue
			}
			d, err = readMetadata(fsys, file, entry.IsDir())
		case ".egg-link":
			d, err = readEggLink(fsys, file)
		}
		if err != nil {
			return err
		}
		// pip leaves folders that begin with "~" behind where it was stopped.
		if d == nil || strings.HasPrefix(entry.Name(), "~") || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		p.Distributions = append(p.Distributions, *d)
	}
	slices.SortFunc(p.Distributions, func(a, b Distribution) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// sitePackages finds the folder of the Python that is there; conda's package
// may have left folders of older ones.
func sitePackages(fsys fs.FS) (string, error) {
	if info, err := fs.Stat(fsys, "Lib/site-packages"); err == nil && info.IsDir() {
		return "Lib/site-packages", nil
	}
	found, err := fs.Glob(fsys, "lib/python[0-9].*/site-packages")
	if err != nil || len(found) == 0 {
		return "", err
	}
	for _, site := range found {
		version := strings.TrimPrefix(path.Base(path.Dir(site)), "python")
		if metas, _ := fs.Glob(fsys, "conda-meta/python-"+version+".*.json"); len(metas) > 0 {
			return site, nil
		}
	}
	return found[len(found)-1], nil
}

// readMetadata reads a dist-info or egg-info; nil where it holds no metadata,
// as an unfinished installation leaves it.
func readMetadata(fsys fs.FS, file string, isDir bool) (*Distribution, error) {
	metadata := file
	if isDir {
		metadata = path.Join(file, "METADATA")
		if path.Ext(file) == ".egg-info" {
			metadata = path.Join(file, "PKG-INFO")
		}
	}
	data, err := readSmall(fsys, metadata)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := parseMetadata(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadata, err)
	}
	if !isDir {
		return d, nil
	}
	if _, err := fs.Stat(fsys, path.Join(file, "REQUESTED")); err == nil {
		d.Requested = true
	}
	direct, err := readSmall(fsys, path.Join(file, "direct_url.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := d.setDirect(direct); err != nil {
		return nil, fmt.Errorf("%s/direct_url.json: %w", file, err)
	}
	return d, nil
}

func readSmall(fsys fs.FS, file string) ([]byte, error) {
	return boundedfile.ReadFS(fsys, file, maxMetadata)
}

// parseMetadata reads the header of METADATA or PKG-INFO, which is that of a
// letter.
func parseMetadata(data []byte) (*Distribution, error) {
	// Of a readme that follows, nothing matters; a header without the empty
	// line behind it is one too.
	head, _, _ := bytes.Cut(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	var kept bytes.Buffer
	scanner := bufio.NewScanner(bytes.NewReader(head))
	scanner.Buffer(nil, maxMetadata)
	for scanner.Scan() {
		line := scanner.Text()
		for _, key := range []string{"Name:", "Version:", "Requires-Dist:"} {
			if strings.HasPrefix(line, key) {
				kept.WriteString(line + "\n")
			}
		}
	}
	kept.WriteString("\n")
	letter, err := mail.ReadMessage(&kept)
	if err != nil {
		return nil, err
	}
	d := &Distribution{Name: names.Distribution(letter.Header.Get("Name")), Version: letter.Header.Get("Version")}
	if d.Name == "" || d.Version == "" {
		return nil, errors.New("names no package or no version")
	}
	for _, text := range letter.Header["Requires-Dist"] {
		_, marker, _ := strings.Cut(text, ";")
		if strings.Contains(marker, "extra") {
			continue
		}
		if i := strings.IndexAny(text, " ;[(<>=!~@"); i >= 0 {
			text = text[:i]
		}
		d.Requires = append(d.Requires, names.Distribution(text))
	}
	return d, nil
}

// setDirect reads PEP 610's direct_url.json.
func (d *Distribution) setDirect(data []byte) error {
	var direct struct {
		URL string
		VCS *struct {
			VCS    string
			Commit string `json:"commit_id"`
		} `json:"vcs_info"`
		Folder *struct {
			Editable bool
		} `json:"dir_info"`
		Subdirectory string
	}
	if err := json.Unmarshal(data, &direct); err != nil {
		return err
	}
	address, err := url.Parse(direct.URL)
	if err != nil {
		return errors.New("names no address")
	}
	switch {
	case address.Scheme == "file":
		d.Folder = address.Path
		d.Editable = direct.Folder != nil && direct.Folder.Editable
	case direct.VCS != nil:
		d.Address = direct.VCS.VCS + "+" + environment.Bare(direct.URL)
		if direct.VCS.Commit != "" {
			d.Address += "@" + direct.VCS.Commit
		}
		if direct.Subdirectory != "" {
			d.Address += "#subdirectory=" + direct.Subdirectory
		}
	default:
		d.Address = environment.Bare(direct.URL)
	}
	return nil
}

// readEggLink reads what "pip install -e" and "setup.py develop" left before
// PEP 660: the path of the folder.
func readEggLink(fsys fs.FS, file string) (*Distribution, error) {
	data, err := readSmall(fsys, file)
	if err != nil {
		return nil, err
	}
	// The second line leads from the packages (PROJECT/src) to the project.
	packages, project, _ := strings.Cut(string(data), "\n")
	name := strings.TrimSuffix(path.Base(file), ".egg-link")
	folder := path.Join(strings.TrimSpace(packages), strings.TrimSpace(project))
	return &Distribution{Name: names.Distribution(name), Folder: folder, Editable: true, Requested: true}, nil
}
