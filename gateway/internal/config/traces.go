package config

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Traces says where spans of calls are sent, by OTLP over HTTP.
type Traces struct {
	Endpoint *url.URL          // with its path, such as /v1/traces
	Headers  map[string]Secret // of each request there
	Sample   float64           // of calls that come without a trace of their own; default 1
}

// tracesPath is where collectors take them.
const tracesPath = "/v1/traces"

func tracesSection(to **Traces) value {
	return optional[Traces]{to: to, fresh: Traces{Sample: 1}, keys: (*Traces).keys, check: func(r *reader, n ast.Node, t *Traces) {
		r.need(n, "endpoint", "add endpoint: with the address of a collector, such as http://127.0.0.1:4318", "traces has no endpoint")
		if p, ok := r.written("endpoint"); ok && len(t.Headers) > 0 && t.Endpoint.Scheme == "http" && !IsLoopback(t.Endpoint.Hostname()) {
			r.warn(p, "the headers for traces can be read on the way: the endpoint has no https")
		}
	}}.value()
}

func (t *Traces) keys() []key {
	return []key{
		{
			name: "endpoint", value: t.endpoint(), needed: true, restart: true, span: "http or https; without a path, `/v1/traces` is added",
			means: "a collector that takes OTLP over HTTP (protobuf)",
		},
		{
			name: "headers", value: secrets(&t.Headers), normal: "none", restart: true, span: "such as `{ Authorization: \"Bearer ${OTLP_TOKEN}\" }`",
			means: "sent with each request there; masked everywhere. `${NAME}` is replaced by an environment variable; `file:PATH` reads it from a file, seen from the config's folder",
		},
		{
			name: "sample", value: number(shares(), &t.Sample, 1e-6, 1), restart: true, span: "`0.0001%` to `100%`",
			means: "of the calls that come without a `traceparent`, so many are traced; one that has it says so itself",
		},
	}
}

func (t *Traces) endpoint() value {
	return scalar("url", object{"type": "string", "pattern": "^https?://"}, func(r *reader, n ast.Node, s string) {
		u, ok := r.httpURL(n, s)
		if !ok {
			return
		}
		if strings.Trim(u.Path, "/") == "" {
			u.Path, u.RawPath = tracesPath, ""
		}
		t.Endpoint = u
	}, func() string {
		if t.Endpoint == nil {
			return ""
		}
		return t.Endpoint.String()
	})
}

// secrets are headers whose values no message may show.
func secrets(to *map[string]Secret) value {
	return value{
		kind:   "mapping",
		schema: func() object { return object{"type": "object", "additionalProperties": object{"type": "string"}} },
		read: func(r *reader, n ast.Node) {
			all := make(map[string]Secret)
			for _, e := range r.entries(n, "header", []string{"names and values"}) {
				name, ok := header(r, e.key, e.name)
				if !ok {
					continue
				}
				r.within(name, func() {
					v := all[name]
					if isNull(e.value) {
						r.fault(e.key, "write a value or remove the header", "%q has no value", e.name)
						return
					}
					secretText(&v).read(r, e.value)
					if strings.ContainsFunc(v.Reveal(), func(c rune) bool { return c < ' ' || c == 0x7f }) {
						r.fault(e.value, "write it in one line", "the value of the header has control characters")
						return
					}
					all[name] = v
					r.places[r.path] = place{r, e.value}
				})
			}
			*to = all
		},
		show: func(path string, put put) {
			for _, name := range slices.Sorted(maps.Keys(*to)) {
				v := (*to)[name]
				secretText(&v).show(below(path, name), put)
			}
		},
	}
}

// Header returns the headers as they are sent.
func (t *Traces) Header() http.Header {
	h := make(http.Header, len(t.Headers))
	for name, v := range t.Headers {
		h.Set(name, v.Reveal())
	}
	return h
}
