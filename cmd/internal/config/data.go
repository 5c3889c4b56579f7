package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/names"
)

// data reads the folders that every run sees: [/data:ro, /scratch].
func (r *reader) data(path string, node *yaml.Node) {
	var texts []string
	r.list(&texts, func(text string) error {
		_, err := parseData(text)
		return err
	})(path, node)
	for _, text := range texts {
		d, err := parseData(text)
		if err != nil {
			continue // told by its place
		}
		r.config.Data = slices.DeleteFunc(r.config.Data, func(old Data) bool { return old.Path == d.Path })
		r.config.Data = append(r.config.Data, d)
		r.config.Origin["data."+d.Path] = r.doc.At(node).String()
	}
}

// parseData reads PATH[:ro].
func parseData(text string) (Data, error) {
	path, readOnly := strings.CutSuffix(text, ":ro")
	if !readOnly {
		path = strings.TrimSuffix(text, ":rw")
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
		return Data{}, fmt.Errorf("is not the absolute path of a folder; write one such as /data, or /data:ro for one that runs only read")
	}
	return Data{Path: filepath.Clean(path), ReadOnly: readOnly}, nil
}

// pass reads names of variables: [HF_TOKEN, WANDB_*].
func (r *reader) pass(path string, node *yaml.Node) {
	names := []string{}
	r.list(&names, checkPass)(path, node)
	if names == nil {
		names = []string{} // none, which is not the same as nothing said
	}
	r.config.Pass = names
}

func checkPass(text string) error {
	if !names.IsVariable(strings.TrimSuffix(text, "*")) {
		return fmt.Errorf("is no name of a variable, nor the beginning of one; write one such as HF_TOKEN or WANDB_*")
	}
	return nil
}

// caches reads whether runs get the caller's caches.
func (r *reader) caches(path string, node *yaml.Node) {
	if text, ok := r.value(path, node, func(text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("is neither true nor false; write false to keep the caches of the host out of runs")
		}
		return nil
	}); ok {
		r.config.NoCaches = text == "false"
		r.set(path, node)
	}
}
