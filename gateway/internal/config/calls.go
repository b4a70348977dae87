package config

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// probeSection is that of a dependency, or of defaults, which has no path.
func probeSection(d *Dependency, one bool) value {
	o := optional[Probe]{
		to: &d.Probe, fresh: *dependencyDefaults().Probe,
		keys:  func(p *Probe) []key { return p.keys(one) },
		there: func(p *Probe) bool { return p.Path != "" || !one },
	}
	if one {
		o.check = func(r *reader, n ast.Node, _ *Probe) {
			r.need(n, "path", "add path:, such as /ping", "the probe has no path")
		}
	}
	return o.value()
}

func (p *Probe) keys(one bool) []key {
	keys := []key{
		{
			name: "path", value: pathBelow(&p.Path), needed: true, span: "begins with `/`; a query is allowed",
			means: "of the GET, below the dependency's url. Pick one that asks the dependency's database too",
		},
		{name: "timeout", value: duration(&p.Timeout, time.Millisecond, time.Minute), span: "`1ms` to `1m`", means: "how long the answer's headers may take; the body is not read"},
		{
			name: "idle", value: duration(&p.Idle, time.Second, 24*time.Hour, off[time.Duration]()), span: "`1s` to `24h`, `off`",
			means: "how often a closed dependency without traffic is probed. What comes after a trip is not affected",
		},
	}
	if !one {
		return keys[1:]
	}
	return keys
}

func pathBelow(to *string) value {
	return scalar("path", object{"type": "string", "pattern": "^/"}, func(r *reader, n ast.Node, s string) {
		switch {
		case !strings.HasPrefix(s, "/"):
			r.fault(n, "write /"+s, "the path %q does not begin with a /", s)
		case strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == '#' || c == 0x7f }):
			r.fault(n, "write spaces as %20", "the path %q has a space, a # or a control character", s)
		default:
			*to = s
		}
	}, func() string { return *to })
}

// judged is a section whose settings the engine judges: a fault is noted at the
// value it is about, and nothing of the section is kept then.
func judged[T any](to *T, keys func(*T) []key, validate func(T) error, needs func(*reader, ast.Node)) value {
	v := section(func() []key {
		var fresh T
		return keys(&fresh)
	})
	v.read = func(r *reader, n ast.Node) {
		it, before := *to, len(r.faults)
		all := keys(&it)
		r.mapping(n, all)
		if needs != nil && len(r.faults) == before {
			needs(r, n)
		}
		r.judge(n, all, validate(it), len(r.faults) == before)
		if len(r.faults) == before { // one fault, one message: not one for each dependency too
			*to = it
		}
	}
	v.show = func(path string, put put) { showAll(keys(to), path, put) }
	return v
}

func retrySection(d *Dependency) value {
	v := judged(&d.Retry, retryKeys, func(r guard.Retry) error { return guard.Config{Retry: r}.Validate() }, nil)
	v.keys = func() []key {
		fresh := filledRetry(guard.Retry{})
		return retryKeys(&fresh)
	}
	v.schema = func() object { return objectOf(v.keys()) }
	v.show = func(path string, put put) {
		if d.Retry.Attempts > 1 {
			filled := filledRetry(d.Retry)
			showAll(retryKeys(&filled), path, put)
		}
	}
	return switchable(v, &d.Retry)
}

func filledRetry(r guard.Retry) guard.Retry { return guard.Config{Retry: r}.WithDefaults().Retry }

func retryKeys(r *guard.Retry) []key {
	return []key{
		{
			name: "attempts", value: whole(&r.Attempts, 0, 0), field: "Retry.Attempts", span: "`1` to `20`",
			means: "how often a call is tried in all, if that cannot do harm: a GET, HEAD, OPTIONS, TRACE, PUT or DELETE, or one with an `Idempotency-Key`, and without a body",
		},
		{name: "backoff", value: duration(&r.Backoff, 0, 0), field: "Retry.Backoff", span: "`1ms` to `1h`", means: "the longest wait before the second attempt; doubled with every further one. The wait is random from 0 to that"},
		{name: "max_backoff", value: duration(&r.MaxBackoff, 0, 0), field: "Retry.MaxBackoff", normal: "`10s`, or `backoff` if that is longer", span: "at least `backoff`, up to `1h`", means: "the longest wait"},
		{name: "budget", value: share(&r.Budget, off[float64]()), field: "Retry.Budget", span: "above 0, up to `1000%`, `off`", means: "retries as a share of calls, so that an outage cannot multiply the load; off: without limit"},
		{name: "floor", value: rate(&r.Floor, 0, off[float64]()), field: "Retry.Floor", span: "above 0, up to `10/s`, `off`", means: "retries that are free even without calls to earn them"},
	}
}

func dependencyRateLimit(d *Dependency) value {
	v := judged(&d.RateLimit, rateLimitKeys, func(l guard.RateLimit) error { return guard.Config{RateLimit: l}.Validate() },
		func(r *reader, n ast.Node) {
			if d.RateLimit.Rate == 0 {
				r.need(n, "rate", "add rate:, such as 50/s", "nothing says how many calls are allowed")
			}
		})
	v = switchable(v, &d.RateLimit)
	v.show = func(path string, put put) {
		if d.RateLimit.Rate != 0 {
			filled := filledRateLimit(d.RateLimit)
			showAll(rateLimitKeys(&filled), path, put)
		}
	}
	return v
}

// switchable is a section that can be off as a whole, for a dependency to be
// without what defaults has.
func switchable[T any](v value, to *T) value {
	read, full := v.read, v.schema
	v.read = func(r *reader, n ast.Node) {
		if s, ok := n.(*ast.StringNode); ok && s.Value == "off" {
			*to = *new(T)
			return
		}
		read(r, n)
	}
	v.schema = func() object { return object{"anyOf": []any{object{"const": "off"}, full()}} }
	return v
}

func filledRateLimit(l guard.RateLimit) guard.RateLimit {
	return guard.Config{RateLimit: l}.WithDefaults().RateLimit
}

func rateLimitKeys(l *guard.RateLimit) []key {
	return []key{
		{name: "rate", value: rate(&l.Rate, 0), field: "RateLimit.Rate", needed: true, span: "`1/h` to `1000000/s`", means: "how many in a second (`50/s`), a minute (`3000/min`) or an hour (`10/h`)"},
		{name: "burst", value: whole(&l.Burst, 0, 0), field: "RateLimit.Burst", normal: "what `rate` allows in a second, at least 1", span: "`1` to `1000000`", means: "how many at once after a pause"},
	}
}

// keySection reads "key: header X-Property", "key: {header: X-Property}" and "key: off".
func keySection(d *Dependency) value {
	return optional[Key]{
		to: &d.Key, fresh: Key{Max: 10_000}, keys: (*Key).keys, short: "^(off|header .+)$",
		check: func(r *reader, n ast.Node, k *Key) {
			if k.Header == "" {
				r.fault(n, "add header:, such as X-Property", "nothing says which header is the key")
			}
		},
		word: func(r *reader, n ast.Node, text string, k *Key) *Key {
			if text == "off" {
				return nil
			}
			if name, ok := strings.CutPrefix(text, "header "); ok {
				k.Header = harmlessHeader(r, n, strings.TrimSpace(name))
				r.places[below(r.path, "header")] = place{r, n}
			} else {
				r.fault(n, "write it like header X-Property", "%q does not say which header is the key", text)
			}
			return k
		},
	}.value()
}

func (k *Key) keys() []key {
	return []key{
		{
			name: "header", needed: true, span: "no header with credentials", means: "of the request; calls without it share the dependency's own breaker",
			value: scalar("text", object{"type": "string", "pattern": headerPattern}, func(r *reader, n ast.Node, s string) {
				k.Header = harmlessHeader(r, n, s)
			}, func() string { return k.Header }),
		},
		{name: "max", value: whole(&k.Max, 1, 1e6), span: "`1` to `1000000`", means: "breakers that are kept; those that are open or isolated stay longest"},
	}
}

// harmlessHeader is header, but not one whose value nobody may see.
func harmlessHeader(r *reader, n ast.Node, s string) string {
	name, _ := header(r, n, s)
	if slices.Contains([]string{"Authorization", "Cookie", "Proxy-Authorization"}, name) {
		r.fault(n, "use a header that names what is called", "the values of %s are credentials, and those of a key are shown", name)
	}
	return name
}

func breakerSection(d *Dependency) value {
	type both struct {
		settings recloser.Config
		suspect  time.Duration
	}
	keys := func(b *both) []key { return breakerKeys(&b.settings, &b.suspect) }
	effective := func(b both) both {
		b.settings = b.settings.WithDefaults()
		return b
	}
	v := value{kind: "mapping", keys: func() []key {
		b := effective(both{dependencyDefaults().Settings, 0})
		return keys(&b)
	}}
	v.schema = func() object { return objectOf(v.keys()) }
	v.read = func(r *reader, n ast.Node) {
		it := both{d.Settings, d.Suspect}
		judged(&it, keys, func(b both) error { return b.settings.Validate() }, nil).read(r, n)
		d.Settings, d.Suspect = it.settings, it.suspect
	}
	v.show = func(path string, put put) {
		it := effective(both{d.Settings, d.Suspect})
		showAll(keys(&it), path, put)
	}
	return v
}
