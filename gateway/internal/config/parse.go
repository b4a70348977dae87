package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

const (
	defaultListen      = ":8080"
	defaultAdminListen = "127.0.0.1:8081"
	defaultGrace       = 15 * time.Second
)

// Load reads and checks a file. What is wrong with its content is returned as
// Errors, all of it at once.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no config file %s: correct the path, or write one as README.md shows", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the config file cannot be read: %w", err)
	}
	return Parse(path, data)
}

// readFile reads no more than shows that a file is too large.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// Parse checks the content of a file; name is for messages, and for what the
// content says relative to itself. The error is of type Errors.
func Parse(name string, data []byte) (*Config, error) {
	if len(data) > maxSize {
		line := 1 + bytes.Count(data[:maxSize], []byte{'\n'})
		return nil, Errors{{
			File: name, Line: line, Column: 1,
			What: "the file is longer than 1 MiB, which ends in this line", Do: "write it without what is no setting",
		}}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	r := &reader{file: name, lines: splitLines(text), secret: make(map[int]bool), widths: make(map[int]int)}
	c := &Config{
		File:   name,
		Listen: defaultListen,
		Admin:  Admin{Listen: defaultAdminListen},
		Grace:  defaultGrace,
	}
	if body := r.parse(text); body != nil {
		r.read(body, c)
	}
	if len(r.faults) == 0 {
		c.Warnings = r.warnings
		return c, nil
	}
	for i, f := range r.faults {
		if r.secret[f.Line] {
			r.faults[i].Source = ""
		}
	}
	r.faults.sort()
	return nil, r.faults
}

func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// parse returns the one document of the file, nil if a fault was noted.
func (r *reader) parse(text string) ast.Node {
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
		r.faultAt(position{1, 1}, "write at least dependencies: and routes:", "the file is empty")
	}
	return body
}

func (r *reader) read(body ast.Node, c *Config) {
	// Routes name dependencies and dependencies build on defaults, whatever
	// their order in the file.
	sections := make(map[string]ast.Node)
	section := func(name string) func(ast.Node) {
		return func(n ast.Node) { sections[name] = n }
	}
	r.hideAlerts(body)
	var listen ast.Node
	r.mapping(body, fields{
		"listen": func(n ast.Node) {
			listen = n
			if _, ok := r.address(n); ok {
				c.Listen, _ = r.text(n)
			}
		},
		"admin":        func(n ast.Node) { r.readAdmin(n, &c.Admin) },
		"grace":        r.setDuration(&c.Grace),
		"defaults":     section("defaults"),
		"dependencies": section("dependencies"),
		"routes":       section("routes"),
		"alerts":       func(n ast.Node) { c.Alerts = r.readAlerts(n) },
	})
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && c.Listen == c.Admin.Listen && port != "0" {
		r.fault(listen, "give each a port of its own", "listen and admin.listen are both %s", c.Listen)
	}
	if _, port, err := net.SplitHostPort(c.Admin.Listen); err == nil && port != "0" && c.Admin.URL == "" {
		c.Admin.URL = "http://" + c.Admin.Listen
	}
	if _, ok := body.(ast.MapNode); !ok {
		return
	}
	r.own = []ownAddress{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}}
	d := r.readDefaults(sections["defaults"])
	if n := sections["dependencies"]; n != nil {
		c.Dependencies = r.readDependencies(n, d)
	} else {
		r.missing(body, "dependencies", "name at least one, with its url")
	}
	if n := sections["routes"]; n != nil {
		routes := routeReader{reader: r, dependencies: c.Dependencies, defaults: d}
		c.Routes = routes.routes(n)
	} else {
		r.missing(body, "routes", "add one, such as - path: /{dependency}/*")
	}
}

// missing notes a section that is not there; one without a value was noted.
func (r *reader) missing(body ast.Node, name, do string) {
	for pairs := body.(ast.MapNode).MapRange(); pairs.Next(); {
		if pairs.Key().GetToken().Value == name {
			return
		}
	}
	r.faultAt(position{1, 1}, do, "the file has no %s", name)
}

func (r *reader) readAdmin(n ast.Node, a *Admin) {
	r.mapping(n, fields{
		"listen": func(n ast.Node) {
			host, ok := r.address(n)
			if !ok {
				return
			}
			s, _ := r.text(n)
			if !IsLoopback(host) {
				_, port, _ := net.SplitHostPort(s)
				r.fault(n, fmt.Sprintf("write %q", net.JoinHostPort("127.0.0.1", port)),
					"admin.listen %q can be reached from other machines, and this version has no sign-in", s)
				return
			}
			a.Listen = s
		},
		"url": func(n ast.Node) {
			if u, ok := r.httpURL(n); ok {
				a.URL = strings.TrimSuffix(u.String(), "/")
			}
		},
	})
}
