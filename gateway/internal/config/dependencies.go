package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

const defaultSlowCall = 2 * time.Second

// dependencyDefaults is what holds for a dependency where neither it nor the
// section defaults says anything else. Its probe, which has no path, is none.
func dependencyDefaults() Dependency {
	return Dependency{
		HTTP:           Auto,
		Timeout:        5 * time.Second,
		AttemptTimeout: 3 * time.Second,
		BodyIdle:       time.Minute,
		Settings:       recloser.Config{SlowCall: defaultSlowCall, CancelOnTrip: true},
		Probe:          &Probe{Timeout: time.Second, Idle: time.Minute},
		Bulkhead:       1024,
	}
}

// dependencyKeys are those of a dependency.
func dependencyKeys(d *Dependency) []key {
	return append([]key{
		{
			name: "url", value: baseURL(&d.URL), needed: true, span: "http or https, with a path at will, without user, query and fragment; not an address of the gateway itself",
			means: "where it is; paths of requests are appended",
		},
		{name: "name", value: line(&d.Name), normal: "the id", means: "for people"},
		{name: "group", value: line(&d.Group), normal: "none", means: "a label that several share; an `ask` names it, and a token can be limited to it"},
	}, callKeys(d, true)...)
}

// defaultsKeys are those that can hold for all dependencies.
func defaultsKeys(d *Dependency) []key { return callKeys(d, false) }

// callKeys are those that say how a dependency is called.
func callKeys(d *Dependency, one bool) []key {
	return []key{
		{name: "labels", value: labels(&d.Labels), normal: "none", span: "words, such as `{ region: coast }`", means: "for selectors of acts and maintenance; those of `defaults` are added"},
		{name: "http", value: choice(&d.HTTP, Auto, HTTP1, H2C), span: "`auto`, `http1`, `h2c`", means: "which HTTP it speaks: HTTP/2 where TLS agrees on it, HTTP/1.1 only, or HTTP/2 without TLS"},
		{
			name: "timeout", value: duration(&d.Timeout, 0, 0), span: "above 0",
			means: "of a whole call with its retries, to the end of the response's headers. In `defaults` also of an `ask` that names none",
		},
		{name: "attempt_timeout", value: duration(&d.AttemptTimeout, 0, 0), span: "above 0, up to `timeout`", means: "of one attempt, likewise"},
		{name: "body_idle", value: duration(&d.BodyIdle, time.Millisecond, 24*time.Hour, off[time.Duration]()), span: "`1ms` to `24h`, `off`", means: "the longest pause in the middle of a response's body"},
		{name: "breaker", value: breakerSection(d), means: "when it is cut off, and how it comes back: [breaker](#breaker)"},
		{name: "probe", value: probeSection(d, one), normal: "none", means: "a light request that asks it how it is: [probe](#probe)"},
		{name: "bulkhead", value: whole(&d.Bulkhead, 1, 1e6), span: "`1` to `1000000`", means: "calls at once, at most. While it is healthy there is no lower limit; after three bad calls in a row, twice the healthy peak"},
		{name: "retry", value: retrySection(d), normal: "none", span: "a mapping or `off`", means: "tries idempotent calls again: [retry](#retry)"},
		{name: "rate_limit", value: dependencyRateLimit(d), normal: "none", span: "a mapping or `off`", means: "calls to it from all callers: [rate_limit](#rate_limit)"},
		{name: "key", value: keySection(d), normal: "none", span: "`header X-Property`, a mapping or `off`", means: "a breaker for each value of a header: [key](#key)"},
	}
}

// readWithTimeouts reads a mapping with the keys timeout and attempt_timeout. An
// attempt that may take longer than the whole call is a fault where it is written;
// where it is not, the call's limit is the attempt's too.
func (r *reader) readWithTimeouts(n ast.Node, d *Dependency, keys []key) {
	before := len(r.faults)
	r.mapping(n, keys)
	if d.AttemptTimeout <= d.Timeout {
		return
	}
	if n, ok := r.written("attempt_timeout"); ok && len(r.faults) == before {
		r.fault(n, fmt.Sprintf("raise timeout or write at most %s", d.Timeout),
			"attempt_timeout %s is longer than the timeout %s of the whole call", d.AttemptTimeout, d.Timeout)
	}
	d.AttemptTimeout = d.Timeout
}

// dependencies reads the mapping of ids; those of included files are added.
func (c *Config) dependencies() value {
	return value{
		kind: "mapping",
		schema: func() object {
			d := dependencyDefaults()
			return object{
				"type": "object", "propertyNames": object{"pattern": dependencyID.String()},
				"additionalProperties": objectOf(dependencyKeys(&d)),
			}
		},
		read: func(r *reader, n ast.Node) {
			for _, e := range r.entries(n, "dependency", []string{"an id for each dependency"}) {
				r.within(e.name, func() {
					if first, twice := r.places[r.path]; twice {
						r.twice(e.key, first, "rename", "dependency %q is written twice", e.name)
						return
					}
					r.places[r.path] = place{r, e.key}
					c.Dependencies = append(c.Dependencies, r.dependency(e, c.defaults))
				})
			}
		},
		show: func(path string, put put) {
			for _, d := range c.Dependencies {
				here := below(path, d.ID)
				showAll(dependencyKeys(&d), here, func(l leaf) {
					l.dependency, l.inherits = d.ID, "defaults"+strings.TrimPrefix(l.path, here)
					put(l)
				})
			}
		},
	}
}

// warn names what of the dependencies is hardly meant.
func (c *Config) warn(r *reader) {
	about := func(hardlyMeant func(Dependency) bool, what, do string) {
		var all []string
		for _, d := range c.Dependencies {
			if hardlyMeant(d) {
				all = append(all, d.ID)
			}
		}
		if len(all) > 0 {
			p := r.places[below("dependencies", all[0])]
			p.r.warn(p.n, what+"; "+do, andMore(all[0], len(all)-1))
		}
	}
	about(func(d Dependency) bool {
		return d.Settings.FailureRate == recloser.Off && d.Settings.Consecutive == recloser.Off
	}, "failure_rate and consecutive are both off for %s, so no run and no share of bad calls ever trips it", "leave one of them on")
	about(func(d Dependency) bool {
		return d.Suspect > 0 && d.Settings.SlowCall > 0 && d.Suspect >= d.Settings.SlowCall
	}, "suspect is not below slow_call for %s, so it changes nothing", "write a shorter one, or auto")
}

// andMore names the first of several.
func andMore(first string, more int) string {
	if more == 0 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, more)
}

var dependencyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// dependency reads one, on top of defaults.
func (r *reader) dependency(e entry, defaults Dependency) Dependency {
	d := defaults
	d.ID, d.Name = e.name, e.name
	if !dependencyID.MatchString(e.name) {
		r.fault(e.key, "use up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit; name: can be anything",
			"%q cannot be the id of a dependency", e.name)
	}
	if !isNull(e.value) {
		r.readWithTimeouts(e.value, &d, dependencyKeys(&d))
	}
	if _, ok := e.value.(ast.MapNode); (ok || isNull(e.value)) && !r.has(e.value, "url") {
		r.fault(e.key, "add url: with its address", "dependency %q has no url", e.name)
	}
	if n, ok := r.written("http"); ok && d.HTTP == H2C && d.URL != nil && d.URL.Scheme == "https" {
		r.fault(n, "write auto, or an http:// url", "h2c is HTTP/2 without TLS, and the url begins with https://")
	}
	if d.Probe.Path == "" {
		d.Probe = nil
	}
	if d.Retry.Attempts > 1 {
		d.Retry = filledRetry(d.Retry)
	} else {
		d.Retry = guard.Retry{}
	}
	if d.RateLimit.Rate != 0 {
		d.RateLimit = filledRateLimit(d.RateLimit)
	}
	return d
}

// has reports whether a mapping has a key, whatever its value.
func (r *reader) has(n ast.Node, name string) bool {
	m, ok := n.(ast.MapNode)
	if !ok {
		return false
	}
	for pairs := m.MapRange(); pairs.Next(); {
		if pairs.Key().GetToken().Value == name {
			return true
		}
	}
	return false
}

func labels(to *map[string]string) value {
	return value{
		kind:   "mapping",
		schema: func() object { return object{"type": "object", "additionalProperties": object{"type": "string"}} },
		read: func(r *reader, n ast.Node) {
			all := make(map[string]string, len(*to))
			maps.Copy(all, *to)
			for _, e := range r.entries(n, "label", []string{"words, such as region: coast"}) {
				r.within(e.name, func() {
					if !labelName.MatchString(e.name) {
						r.fault(e.key, "use letters, digits, '.', '_' and '-'", "%q cannot be the name of a label", e.name)
					}
					v := all[e.name]
					if isNull(e.value) {
						r.fault(e.key, "write a value or remove the key", "%q has no value", e.name)
						return
					}
					line(&v).read(r, e.value)
					all[e.name] = v
					r.places[r.path] = place{r, e.value}
				})
			}
			*to = all
		},
		show: func(path string, put put) {
			for _, name := range slices.Sorted(maps.Keys(*to)) {
				put(leaf{path: below(path, name), text: (*to)[name]})
			}
		},
	}
}

var labelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
