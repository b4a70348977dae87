package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

func (a *Alerts) keys() []key {
	return []key{{name: "teams", value: a.channels(), normal: "none", means: "channels of Microsoft Teams: [alerts.teams](#alertsteams)"}}
}

func (t *Teams) keys() []key {
	return []key{
		{
			name: "url", value: secret(&t.URL), needed: true, span: "https; http on this machine only",
			means: "the address of a Workflows webhook. It holds a key, so it is masked everywhere. `${NAME}` in it is replaced by an environment variable; `file:PATH` reads it from a file, seen from the config's folder",
		},
		{name: "name", value: line(&t.Name), span: "each its own", normal: "`teams-1`, `teams-2`, ...", means: "for the log"},
	}
}

func (a *Alerts) channels() value {
	return value{
		kind:   "list",
		schema: func() object { return object{"type": "array", "items": objectOf(new(Teams).keys())} },
		read: func(r *reader, n ast.Node) {
			names := make(map[string]bool)
			for i, item := range r.list(n) {
				t := Teams{Name: fmt.Sprintf("teams-%d", i+1)}
				r.within(r.called(item, "name", t.Name), func() { r.mapping(item, t.keys()) })
				if _, ok := item.(ast.MapNode); ok && !r.has(item, "url") {
					r.fault(item, "add url: with the address of the workflow", "the channel has no url")
				}
				if names[t.Name] {
					r.fault(item, "give each channel a name: of its own", "another channel has this name already")
				}
				names[t.Name] = true
				a.Teams = append(a.Teams, t)
			}
		},
		show: func(path string, put put) {
			for _, t := range a.Teams {
				showAll(t.keys(), below(path, t.Name), put)
			}
		},
	}
}

// called returns what stands at the key of an item of a list by which people know it.
func (r *reader) called(item ast.Node, key, otherwise string) string {
	if m, ok := item.(ast.MapNode); ok {
		for pairs := m.MapRange(); pairs.Next(); {
			if s, ok := pairs.Value().(*ast.StringNode); ok && pairs.Key().GetToken().Value == key {
				return s.Value
			}
		}
	}
	return otherwise
}

// secret is the url of a webhook.
func secret(to *Secret) value {
	return value{
		kind:   "secret",
		schema: func() object { return object{"type": "string"} },
		read:   func(r *reader, n ast.Node) { *to = r.webhook(n) },
		show: func(path string, put put) {
			if *to != "" {
				put(leaf{path: path, text: masked, secret: to.Reveal()})
			}
		},
	}
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
	path = r.besides(path)
	data, err := readFile(path, maxSecret)
	if err == nil && len(data) > maxSecret {
		err = errors.New("it is too long for a secret")
	}
	r.files = append(r.files, path)
	if err != nil {
		r.fault(n, "create it, correct the path, which is seen from the folder of this file, or remove this channel",
			"the file with the url cannot be read: %v", withoutPath(err))
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

const maxSecret = 64 << 10 // bytes

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
		if plain, _, fallback := strings.Cut(name, ":-"); fallback && variable.MatchString(plain) {
			r.fault(n, "write ${NAME}, and set the variable wherever the gateway runs", "${NAME:-default} is not read: a secret has no default")
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
