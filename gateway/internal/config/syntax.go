package config

import (
	"errors"
	"regexp"
	"strings"

	yaml "github.com/goccy/go-yaml"
)

var tabbed = regexp.MustCompile(`^ *\t`)

// syntax notes why the file is not YAML, in plain words.
func (r *reader) syntax(err error) {
	r.hideUnread()
	found := false
	for i, line := range r.lines {
		if indent := tabbed.FindString(line); indent != "" {
			found = true
			r.faultAt(position{i + 1, len(indent)}, "indent with spaces", "a tab in the indentation")
		}
	}
	if found {
		return
	}
	e, ok := errors.AsType[*yaml.SyntaxError](err)
	if !ok || e.Token == nil {
		r.faultAt(position{1, 1}, "", "the file is not YAML")
		return
	}
	p := position{e.Token.Position.Line, e.Token.Position.Column}
	what, do := plain(e.Message)
	r.note(p, do, what)
}

// plain says in a user's words what the parser says in its own.
func plain(message string) (what, do string) {
	for _, m := range []struct{ contains, what, do string }{
		{"non-map value is specified", "here must be a key and a value", `write "key: value", with a colon and a space`},
		{"unexpected key name", "here must be a key and a value", `write "key: value", with a colon and a space`},
		{"map key definition includes an implicit line break", "here must be a key and a value", `write "key: value", with a colon and a space`},
		{"mapping value is not allowed in this context", "a second colon in one value, or a line that is indented too far", "put a text that has a colon and a space in quotes, and begin keys of one section in the same column"},
		{"value is not allowed in this context", "the line does not fit those above it", "begin keys of one section in the same column"},
		{"must be specified", "a list or mapping in brackets is not closed before this", "close it, or put a comma between its values"},
		{"could not find flow mapping end token", "the { is not closed", "add a }"},
		{"sequence end token", "the [ is not closed", "add a ]"},
		{"could not find '['", "a ] without a [", "remove it"},
		{"could not find '{'", "a } without a {", "remove it"},
		{"quoted text", "the text in quotes does not end", "add the closing quote"},
		{"is a reserved character", "a value cannot begin with @ or `", "put it in quotes"},
		{"tab character", "a tab in the indentation", "indent with spaces"},
	} {
		if strings.Contains(message, m.contains) {
			return m.what, m.do
		}
	}
	return "the file is not YAML", "" // the message may quote it
}
