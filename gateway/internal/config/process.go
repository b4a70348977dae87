package config

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// withDefaults returns what a file that says nothing means.
func withDefaults(file string) *Config {
	return &Config{
		File:   file,
		Listen: ":8080",
		Admin:  Admin{Listen: "127.0.0.1:8081"},
		Grace:  15 * time.Second,
		Limits: Limits{
			InFlight: 8192, Headers: 64 << 10, HeaderTimeout: 10 * time.Second,
			BodyIdle: 30 * time.Second, AnswerIdle: time.Minute, Idle: 2 * time.Minute, Streams: 250,
		},
		Storage:  Storage{Path: databaseOf(file)},
		Store:    Store{Prefix: "recloser"},
		Fleet:    fleetDefaults(),
		Alerts:   Alerts{Calm: time.Minute, Reminder: time.Hour},
		defaults: dependencyDefaults(),
	}
}

// databaseOf returns where the history of a config is kept that does not say.
// systemd names a folder that the service may write to.
func databaseOf(file string) string {
	folder, name := filepath.Split(file)
	if state, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); state != "" {
		folder = state
	}
	return filepath.Join(folder, strings.TrimSuffix(name, filepath.Ext(name))+".db")
}

// keys are those of the file. Routes name dependencies and dependencies build on
// defaults, so their order here is that in which they are read.
func (c *Config) keys() []key {
	return append(c.processKeys(), c.contentKeys()...)
}

// processKeys are those of the process as a whole.
func (c *Config) processKeys() []key {
	return []key{
		{name: "listen", value: address(&c.Listen), restart: true, means: "where calls are taken"},
		{name: "tls", value: tlsSection(&c.TLS), restart: true, means: "makes `listen` speak HTTPS: [tls](#tls)"},
		{name: "admin", value: section(c.Admin.keys), means: "where people, the API and metrics are: [admin](#admin)"},
		{name: "limits", value: section(c.Limits.keys), means: "what callers may take up: [limits](#limits)"},
		{
			name: "storage", value: c.Storage.value(), restart: true, span: "a path, `off`, `{ path: ... }`",
			normal: "the config file's path with `.db`; in the folder of `$STATE_DIRECTORY` if systemd sets it",
			means:  "the file for history and acts, seen from the config's folder; off: memory only, gone with a restart",
		},
		{name: "store", value: c.Store.value(), means: "what several gateways share: [store](#store)"},
		{name: "fleet", value: section(c.Fleet.keys), means: "which gateways share it, and when one's bad calls count for all: [fleet](#fleet)"},
		{name: "grace", value: duration(&c.Grace, 0, 0), span: "above 0", means: "how long running calls may take to end when the gateway stops"},
	}
}

// contentKeys are those of what is called, by whom and who is told.
func (c *Config) contentKeys() []key {
	return []key{
		{name: "defaults", value: section(func() []key { return defaultsKeys(&c.defaults) }), means: "what holds for every dependency: [defaults](#defaults)"},
		{name: "include", value: c.includes(), span: "paths, with `*` at will", means: "files with more `dependencies` and `routes`, seen from the folder of this one: [include](#include)"},
		{name: "dependencies", value: c.dependencies(), needed: true, span: "at least one", means: "ids, each with its [settings](#dependencies)"},
		{name: "routes", value: c.routes(), needed: true, span: "at least one", means: "which requests go where: [routes](#routes)"},
		{name: "alerts", value: c.Alerts.value(), means: "who is told: [alerts](#alerts)"},
		{name: "traces", value: tracesSection(&c.Traces), restart: true, normal: "none", means: "where traces of calls are sent: [traces](#traces)"},
	}
}

func tlsSection(to **TLS) value {
	return optional[TLS]{to: to, keys: (*TLS).keys, check: func(r *reader, n ast.Node, _ *TLS) {
		r.need(n, "cert", "add cert: with the file of the certificate", "tls has no cert")
		r.need(n, "key", "add key: with the file of the private key", "tls has no key")
	}}.value()
}

func (t *TLS) keys() []key {
	return []key{
		{name: "cert", value: filePath(&t.Cert), needed: true, restart: true, means: "PEM file of the certificate with its chain, seen from the config's folder; what is in it is read again when it changes"},
		{name: "key", value: filePath(&t.Key), needed: true, restart: true, means: "PEM file of its private key, likewise"},
	}
}

func (a *Admin) keys() []key {
	return []key{
		{
			name: "listen", value: address(&a.Listen), restart: true, span: "of this machine, such as `\"[::1]:8081\"`; with sign_in any",
			means: "where the panel, the API and `/metrics` are",
		},
		{
			name: "url", value: webURL(&a.URL), restart: true, span: "http or https", normal: "`http://` (with `tls` `https://`) and `listen`; none if that names no host",
			means: "how people reach it, for links in messages and as the origin that browsers may act from",
		},
		{name: "tls", value: tlsSection(&a.TLS), restart: true, means: "makes it speak HTTPS: [tls](#tls)"},
		{name: "sign_in", value: boolean(&a.SignIn), restart: true, means: "whether everything but the health checks, and `/metrics` for this machine, asks for a token (`recloser token create`)"},
		{
			name: "embed", value: items("list", object{"type": "string", "pattern": "^https?://"}, &a.Embed, origin, func(o string) string { return o }), restart: true, span: "origins such as `https://cms.example`",
			means: "sites that may show the panel's page with one button, `/embed/ID`, in a frame",
		},
		{
			name: "allow_targets", value: items("list", object{"type": "string"}, &a.AllowTargets, prefix, netip.Prefix.String), span: "addresses such as `169.254.10.0/24`",
			means: "link-local and metadata addresses at which a dependency that is added by the API may be all the same; else they are refused",
		},
	}
}

func webURL(to *string) value {
	return scalar("url", object{"type": "string", "pattern": "^https?://"}, func(r *reader, n ast.Node, s string) {
		if u, ok := r.httpURL(n, s); ok {
			*to = strings.TrimSuffix(u.String(), "/")
		}
	}, func() string { return *to })
}

func (l *Limits) keys() []key {
	const day = 24 * time.Hour
	return []key{
		{name: "in_flight", value: whole(&l.InFlight, 1, 1e6), span: "`1` to `1000000`", means: "calls that run at once in this process; one more is refused with 503"},
		{name: "headers", value: size(&l.Headers, 1<<10, 16<<20), restart: true, span: "`1KiB` to `16MiB`", means: "a request's headers in all; more is 431"},
		{name: "body", value: size(&l.Body, 1, 1<<40, word[int64]{"off", 0}), span: "`1B` to `1024GiB`, `off`", means: "a request's body; more is 413. That of an ask is never above 1 MiB"},
		{name: "header_timeout", value: duration(&l.HeaderTimeout, time.Millisecond, day), restart: true, span: "`1ms` to `24h`", means: "from a request's first byte to the end of its headers"},
		{name: "body_idle", value: duration(&l.BodyIdle, time.Millisecond, day), span: "`1ms` to `24h`", means: "the longest pause of a client in the middle of a request's body"},
		{name: "answer_idle", value: duration(&l.AnswerIdle, time.Millisecond, day, off[time.Duration]()), restart: true, span: "`1ms` to `24h`, `off`", means: "how long a client may take nothing of its answer"},
		{name: "idle", value: duration(&l.Idle, time.Millisecond, day), restart: true, span: "`1ms` to `24h`", means: "how long a connection without a request is kept"},
		{name: "streams", value: whole(&l.Streams, 1, 1e5), restart: true, span: "`1` to `100000`", means: "requests at once on one HTTP/2 connection"},
	}
}

// value reads "storage: PATH", "storage: off" and "storage: {path: PATH}".
func (s *Storage) value() value {
	path := filePath(&s.Path)
	keys := func() []key {
		return []key{{name: "path", value: path, needed: true, means: "the file, seen from the config's folder"}}
	}
	v := section(keys)
	full := v.schema
	v.kind = "file"
	v.keys = nil
	v.schema = func() object { return object{"anyOf": []any{object{"type": "string", "minLength": 1}, full()}} }
	v.show = func(at string, put put) {
		text := s.Path
		if text == "" {
			text = "off"
		}
		put(leaf{path: at, text: text})
	}
	v.read = func(r *reader, n ast.Node) {
		if _, ok := n.(ast.MapNode); ok {
			r.mapping(n, keys())
			r.need(n, "path", "write it like storage: recloser.db, or storage: off", "storage has no path")
			return
		}
		if text, ok := n.(*ast.StringNode); ok && text.Value == "off" {
			s.Path = ""
			return
		}
		path.read(r, n)
	}
	return v
}

// settle fills in what depends on several settings of the process, and notes
// those that do not fit together.
func (c *Config) settle(r *reader) {
	c.settleAdmin(r)
	c.Fleet.settle(r, &c.Store)
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && c.Listen == c.Admin.Listen && port != "0" {
		p, ok := r.places["listen"]
		if !ok {
			p = r.places["admin.listen"]
		}
		p.r.fault(p.n, "give each a port of its own", "listen and admin.listen are both %s", c.Listen)
	}
}

func (c *Config) settleAdmin(r *reader) {
	host, port, err := net.SplitHostPort(c.Admin.Listen)
	if err != nil {
		return // noted
	}
	if c.Admin.URL == "" && port != "0" && namesHost(host) {
		scheme := "http://"
		if c.Admin.TLS != nil {
			scheme = "https://"
		}
		c.Admin.URL = scheme + c.Admin.Listen
	}
	p, written := r.places["admin.listen"]
	switch {
	case !written || IsLoopback(host):
	case !c.Admin.SignIn:
		p.r.fault(p.n, fmt.Sprintf("write %q, or sign_in: true and make a token with recloser token create", net.JoinHostPort("127.0.0.1", port)),
			"admin.listen %q can be reached from other machines, and anybody there could act: there is no sign-in", c.Admin.Listen)
	case c.Admin.TLS == nil && !strings.HasPrefix(c.Admin.URL, "https://"):
		p.r.warn(p.n, "tokens for admin.listen %q can be read on the way; add tls, or say by an https url that something in front has it", c.Admin.Listen)
	}
}

// warnOfLinks notes that messages would have no way to the panel, or none for whoever
// reads them elsewhere.
func (c *Config) warnOfLinks(r *reader) {
	host, port, err := net.SplitHostPort(c.Admin.Listen)
	_, told := r.places["admin.url"]
	p, fine := r.places["alerts"]
	switch {
	case err != nil, port == "0", told, !fine, len(c.Alerts.Channels) == 0:
	case IsLoopback(host):
		p.r.warn(p.n, "links in messages lead to this machine only, as admin.listen does; set admin.url to how people reach the panel")
	case !namesHost(host):
		p.r.warn(p.n, "messages have no links to the panel, as admin.listen names no host; set admin.url to how people reach it")
	}
}

func namesHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host != "" && (err != nil || !ip.IsUnspecified())
}

func (c *Config) own() []ownAddress {
	return []ownAddress{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}}
}
