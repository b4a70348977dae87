package config

import (
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Override is a setting from outside the file. It goes before what the file says.
type Override struct {
	Path   string // of the setting, such as "admin.listen"; it must be a single value
	Value  string // as it is written in a file
	Origin string // for messages and config show, such as "flag --listen"
}

// Environment returns the overrides that the environment holds: RECLOSER_LISTEN,
// RECLOSER_ADMIN_LISTEN and RECLOSER_STORAGE. An empty variable is none.
func Environment() []Override {
	var all []Override
	for _, v := range []struct{ name, path string }{
		{"RECLOSER_LISTEN", "listen"}, {"RECLOSER_ADMIN_LISTEN", "admin.listen"}, {"RECLOSER_STORAGE", "storage"},
	} {
		if value := os.Getenv(v.name); value != "" {
			all = append(all, Override{v.path, value, "environment " + v.name})
		}
	}
	return all
}

// takeOver reads an override, as a file that holds only this value.
func (s *reading) takeOver(keys []key, o Override) {
	r := s.reader(o.Origin, o.Value)
	r.override = true
	n := ast.String(token.New(o.Value, o.Value, &token.Position{Line: 1, Column: 1}))
	names := strings.Split(o.Path, ".")
	for len(names) > 1 {
		keys = inside(keys, names[0])
		r.path, names = below(r.path, names[0]), names[1:]
	}
	r.readKeys(map[string]ast.Node{names[0]: n}, keys)
	if _, ok := r.places[o.Path]; !ok && len(r.faults) == 0 {
		r.note(position{1, 1}, "", "there is no setting "+o.Path)
	}
}

// inside returns the keys of the mapping at a key.
func inside(keys []key, name string) []key {
	for _, k := range keys {
		if k.name == name && k.value.keys != nil {
			return k.value.keys()
		}
	}
	return nil
}
