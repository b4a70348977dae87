package config

import (
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml/ast"
)

// key is one key of a mapping, tied to where its value is kept. Tables of keys
// are all there is: the reader, `config show`, what a reload changed, the JSON
// Schema and the tables of docs/CONFIG.md are made from them.
type key struct {
	name    string
	value   value
	field   string // of the engine's Config, whose Validate judges it; "": none
	needed  bool   // a mapping without it is a fault
	restart bool   // a change holds only after a restart
	normal  string // the default in words of the document, where it is no value
	span    string // what it can be, in words of the document
	means   string
}

// value is how what stands at a key is read, shown and described.
type value struct {
	kind   string // in a word of the document
	schema func() object
	read   func(*reader, ast.Node)
	show   func(path string, put put)
	keys   func() []key // of a mapping; else nil
}

// leaf is one value in force.
type leaf struct {
	path       string
	text       string // as it is written in a file
	secret     string // what text hides
	dependency string // the id of the one it is of
	inherits   string // the path at which a default for it may be written
	restart    bool   // a change holds only after a restart
}

// put takes what is shown.
type put func(leaf)

// object is a mapping of a JSON Schema.
type object = map[string]any

// scalar is a value that is one word or text; it is not there if show returns "".
func scalar(kind string, schema object, read func(r *reader, n ast.Node, text string), show func() string) value {
	return value{
		kind:   kind,
		schema: func() object { return schema },
		read: func(r *reader, n ast.Node) {
			if text, ok := r.text(n); ok {
				read(r, n, text)
			}
		},
		show: func(path string, put put) {
			if text := show(); text != "" {
				put(leaf{path: path, text: text})
			}
		},
	}
}

// section is a mapping of its own.
func section(keys func() []key) value {
	return value{
		kind: "mapping",
		keys: keys,
		schema: func() object {
			return objectOf(keys())
		},
		read: func(r *reader, n ast.Node) { r.mapping(n, keys()) },
		show: func(path string, put put) { showAll(keys(), path, put) },
	}
}

func showAll(keys []key, path string, put put) {
	for _, k := range keys {
		k.value.show(below(path, k.name), func(l leaf) {
			l.restart = l.restart || k.restart
			put(l)
		})
	}
}

// optional is a section that is kept only if it is written: *to is nil without.
// What it does not say is as in *to if that is there already, else as in fresh.
type optional[T any] struct {
	to    **T
	fresh T
	keys  func(*T) []key
	check func(*reader, ast.Node, *T) // may be nil
	there func(*T) bool               // whether *to counts as written; nil: if it is not nil
	short string                      // what may stand for the whole mapping: see word; "": nothing
	word  func(r *reader, n ast.Node, text string, v *T) *T
}

func (o optional[T]) value() value {
	v := section(func() []key {
		fresh := o.fresh
		return o.keys(&fresh)
	})
	v.read = func(r *reader, n ast.Node) {
		it := o.fresh
		if *o.to != nil {
			it = **o.to
		}
		before := len(r.faults)
		if text, ok := n.(*ast.StringNode); ok && o.word != nil {
			if word := o.word(r, n, text.Value, &it); len(r.faults) == before {
				*o.to = word
			}
			return
		}
		r.mapping(n, o.keys(&it))
		if o.check != nil && len(r.faults) == before {
			o.check(r, n, &it)
		}
		*o.to = &it
	}
	v.show = func(path string, put put) {
		if *o.to != nil && (o.there == nil || o.there(*o.to)) {
			showAll(o.keys(*o.to), path, put)
		}
	}
	if o.word != nil {
		full := v.schema
		v.schema = func() object {
			return object{"anyOf": []any{object{"type": "string", "pattern": o.short}, full()}}
		}
	}
	return v
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// below is the path of what stands at a name in what stands at path.
func below(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

// place is where a value in force was written.
type place struct {
	r *reader
	n ast.Node
}

// origin says it to people.
func (p place) origin() string {
	if p.r.override {
		return p.r.file
	}
	return fmt.Sprintf("%s:%d", p.r.file, at(p.n).line)
}
