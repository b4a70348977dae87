package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Load reads and checks a file, and the files it includes. Overrides go before
// what they say, later ones before earlier ones: first those of Environment, then
// flags. What is wrong with the content is returned as Errors, all of it at once. Of a
// config that is refused there are only the Stamps.
func Load(path string, overrides ...Override) (*Config, error) {
	s := newReading()
	s.sources = []source{seenFile(path)}
	data, err := readConfig(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("there is no config file %s: correct the path, or write one with recloser config init", path)
	case err != nil:
		err = fmt.Errorf("the config file cannot be read: %w", err)
	default:
		var c *Config
		if c, err = s.parse(path, data, overrides); err == nil {
			return c, nil
		}
	}
	return &Config{File: path, sources: s.sources}, err
}

// Parse checks the content of a file; name is for messages, and for what the
// content says relative to itself. The error is of type Errors.
func Parse(name string, data []byte) (*Config, error) { return newReading().parse(name, data, nil) }

func (s *reading) parse(name string, data []byte, overrides []Override) (*Config, error) {
	c := withDefaults(name)
	r, body := s.open(name, data, "write at least dependencies: and routes:")
	if body != nil {
		c.read(r, body, overrides)
	}
	if faults := s.all(); len(faults) > 0 {
		return nil, faults
	}
	c.Warnings = s.warnings
	c.origins = s.origins()
	c.sources = s.sources
	return c, nil
}

func newReading() *reading {
	return &reading{places: make(map[string]place), paths: make(map[string]place)}
}

// reader returns one for a file.
func (s *reading) reader(file, text string) *reader {
	r := &reader{reading: s, file: file, lines: splitLines(text), secret: make(map[int]bool), widths: make(map[int]int)}
	s.readers = append(s.readers, r)
	return r
}

// open returns the syntax tree of a file, nil if a fault was noted; least is what
// to write into one that is empty.
func (s *reading) open(name string, data []byte, least string) (*reader, ast.Node) {
	if len(data) > maxSize {
		line := 1 + bytes.Count(data[:maxSize], []byte{'\n'})
		r := s.reader(name, strings.Repeat("\n", line-1))
		r.note(position{line, 1}, "write it without what is no setting", "the file is longer than 1 MiB, which ends in this line")
		return r, nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	r := s.reader(name, text)
	return r, r.parse(text, least)
}

// all returns the faults that were noted, file by file, without the lines that hold secrets.
func (s *reading) all() Errors {
	var all Errors
	for _, r := range s.readers {
		for i, f := range r.faults {
			if r.secret[f.Line] || r.override {
				r.faults[i].Source = ""
			}
		}
		r.faults.sort()
		all = append(all, r.faults...)
	}
	return all
}

func (s *reading) origins() map[string]string {
	all := make(map[string]string, len(s.places))
	for path, p := range s.places {
		all[path] = p.origin()
	}
	return all
}

func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// parse returns the one document of the file, nil if a fault was noted.
func (r *reader) parse(text, least string) ast.Node {
	if !utf8.ValidString(text) {
		for i, l := range r.lines {
			if !utf8.ValidString(l) {
				r.faultAt(position{i + 1, 1}, "save the file as UTF-8", "the line is not UTF-8 text")
			}
		}
		return nil
	}
	tokens := lexer.Tokenize(text)
	r.hideCredentials(tokens)
	if t, why := tooMuch(tokens); t != nil {
		r.hideUnread()
		r.note(position{t.Position.Line, t.Position.Column}, "write less", why)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // entries finds them all
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			r.hideUnread()
			r.fault(doc.Body, "remove the line with ---", "a second document begins here")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		r.faultAt(position{1, 1}, least, "the file is empty")
	}
	return body
}

func (c *Config) read(r *reader, body ast.Node, overrides []Override) {
	r.hideSecrets(body)
	keys := c.keys()
	written := r.known(body, keys)
	r.readKeys(written, c.processKeys())
	for _, o := range overrides {
		r.takeOver(keys, o)
	}
	c.settle(r)
	if _, ok := body.(ast.MapNode); !ok {
		return
	}
	r.own = c.own()
	for _, k := range c.contentKeys() {
		r.readKeys(written, []key{k})
		for _, f := range r.included { // there is none before the key include was read
			f.reader.readKeys(f.written, []key{k})
		}
	}
	c.complete(r, body, written)
	c.warn(r)
	c.warnOfLinks(r)
}

// complete notes what there is none of.
func (c *Config) complete(r *reader, body ast.Node, written map[string]ast.Node) {
	check := func(name string, count int, none, do string) {
		n := written[name]
		elsewhere := slices.ContainsFunc(r.included, func(f included) bool { return f.written[name] != nil })
		switch {
		case count > 0 || elsewhere && len(r.all()) > 0:
		case n != nil && isEmpty(n):
			r.fault(n, do, "%s", none)
		case !r.has(body, name):
			r.note(position{1, 1}, do, "the file has no "+name)
		}
	}
	check("dependencies", len(c.Dependencies), "there are no dependencies", "name at least one, with its url")
	check("routes", len(c.Routes), "there are no routes, so nothing could be called", "add one, such as - path: /{dependency}/*")
}

func isEmpty(n ast.Node) bool {
	if m, ok := n.(ast.MapNode); ok {
		return !m.MapRange().Next()
	}
	s, ok := n.(*ast.SequenceNode)
	return ok && len(s.Values) == 0
}
