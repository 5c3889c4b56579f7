package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// parts are where the time of a build goes, in the order in which it does.
var parts = []string{"tools", "solve", "download", "link", "compile", "check", "export", "other"}

// partOf finds the part of a step by its name.
func partOf(name string) string {
	switch {
	case strings.Contains(name, "get the tools"):
		return "tools"
	case strings.Contains(name, "solve"), strings.Contains(name, "choose"):
		return "solve"
	case strings.Contains(name, "install"):
		return "install"
	case strings.Contains(name, "check that"):
		return "check"
	case strings.Contains(name, "exporting"):
		return "export"
	}
	return ""
}

// took are the seconds that the installer says a part has taken.
var took = regexp.MustCompile(`(download|link|compile) ([0-9.]+) s`)

// spent reads the progress of a build, BuildKit's raw JSON, and adds up the
// time of its steps. Of the installation's the installer itself says how much
// was download, link and compile.
func spent(progress []byte) map[string]time.Duration {
	type vertex struct {
		Digest             string
		Name               string
		Started, Completed *time.Time
		Cached             bool
	}
	seen := map[string]vertex{}
	text := map[string]string{}
	for line := range bytes.Lines(progress) {
		var status struct {
			Vertexes []vertex
			Logs     []struct {
				Vertex string
				Data   []byte
			}
		}
		if json.Unmarshal(line, &status) != nil {
			continue // a note of crun's
		}
		for _, v := range status.Vertexes {
			seen[v.Digest] = v
		}
		for _, l := range status.Logs {
			text[l.Vertex] += string(l.Data)
		}
	}
	sum := map[string]time.Duration{}
	for digest, v := range seen {
		part := partOf(v.Name)
		if part == "" || v.Cached || v.Started == nil || v.Completed == nil {
			continue
		}
		whole := v.Completed.Sub(*v.Started)
		if part != "install" {
			sum[part] += whole
			continue
		}
		for _, found := range took.FindAllStringSubmatch(text[digest], -1) {
			d, err := time.ParseDuration(found[2] + "s")
			if err == nil {
				sum[found[1]] += d
				whole -= d
			}
		}
		sum["other"] += max(0, whole)
	}
	return sum
}

// shares shows where the time of a build went.
func shares(c cost) string {
	var words []string
	rest := c.time
	for _, part := range parts {
		if d := c.spent[part]; d > 0 && part != "other" {
			words = append(words, fmt.Sprintf("%s %.1f s", part, d.Seconds()))
			rest -= d
		}
	}
	return strings.Join(slices.Concat(words, []string{fmt.Sprintf("other %.1f s", max(0, rest).Seconds())}), ", ")
}
