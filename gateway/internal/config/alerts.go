package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

func (r *reader) readAlerts(n ast.Node) Alerts {
	var a Alerts
	r.mapping(n, fields{"teams": func(n ast.Node) {
		names := make(map[string]bool)
		for i, item := range r.list(n) {
			t := Teams{Name: fmt.Sprintf("teams-%d", i+1)}
			hasURL := false
			r.mapping(item, fields{
				"name": r.setText(&t.Name),
				"url": func(n ast.Node) {
					hasURL = true
					t.URL = r.webhook(n)
				},
			})
			if _, ok := item.(ast.MapNode); ok && !hasURL {
				r.fault(item, "add url: with the address of the workflow", "the channel has no url")
			}
			if names[t.Name] {
				r.fault(item, "give each channel a name: of its own", "another channel has this name already")
			}
			names[t.Name] = true
			a.Teams = append(a.Teams, t)
		}
	}})
	return a
}

// webhook reads the url of a webhook, which holds a key: no message may show it.
func (r *reader) webhook(n ast.Node) Secret {
	s, ok := r.secretText(n)
	if !ok {
		return ""
	}
	if path, isFile := strings.CutPrefix(s, "file:"); isFile {
		s, ok = r.fromFile(n, path)
	} else {
		s, ok = r.fromEnvironment(n, s)
	}
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(u.Hostname())) {
		r.fault(n, "copy it from the workflow: it begins with https://", "this is not the url of a webhook")
		return ""
	}
	return Secret(s)
}

func (r *reader) fromFile(n ast.Node, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.file), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // without the path: what is written here may be the url itself
		}
		r.fault(n, "create it, correct the path, which is seen from the folder of this file, or remove this channel",
			"the file with the url cannot be read: %v", err)
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fromEnvironment replaces each ${NAME}. os.Expand would also take $NAME, which
// a url may contain, and would make nothing of a variable that is not set.
func (r *reader) fromEnvironment(n ast.Node, s string) (string, bool) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			r.fault(n, "write ${NAME}", "a ${ is not closed")
			return "", false
		}
		if !variable.MatchString(name) {
			r.fault(n, "write ${NAME}, with letters, digits and _", "what stands in ${} is not the name of a variable")
			return "", false
		}
		value, set := os.LookupEnv(name)
		if !set {
			r.note(at(n), "set it, or remove this channel", "the environment variable "+name+" is not set")
			return "", false
		}
		if value == "" {
			r.note(at(n), "give it the url of the workflow, or remove this channel", "the environment variable "+name+" is set, but empty")
			return "", false
		}
		out.WriteString(value)
		s = after
	}
}
