package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
)

// What holds for a dependency that says nothing else.
const (
	defaultTimeout        = 5 * time.Second
	defaultAttemptTimeout = 3 * time.Second
	defaultSlowCall       = 2 * time.Second
)

// defaults is the section of that name, or what holds without it.
type defaults struct {
	timeout, attemptTimeout time.Duration
	breaker                 breaker
}

func (r *reader) readDefaults(n ast.Node) defaults {
	d := defaults{timeout: defaultTimeout, attemptTimeout: defaultAttemptTimeout}
	of := recloser.Config{SlowCall: defaultSlowCall, CancelOnTrip: true}
	d.breaker.settings = of
	if n == nil {
		return d
	}
	r.timed(n, &d.timeout, &d.attemptTimeout, fields{
		"breaker": func(n ast.Node) { d.breaker = r.readBreaker(n, of) },
	})
	return d
}

// timed reads a section with the keys timeout and attempt_timeout besides
// others. An attempt that may take longer than the whole call is a fault where
// it is written; where it is not, the call's limit is the attempt's too.
func (r *reader) timed(n ast.Node, timeout, attempt *time.Duration, others fields) {
	before := len(r.faults)
	var written ast.Node
	others["timeout"] = r.setDuration(timeout)
	others["attempt_timeout"] = func(n ast.Node) {
		written = n
		r.setDuration(attempt)(n)
	}
	r.mapping(n, others)
	if *attempt <= *timeout {
		return
	}
	if written != nil && len(r.faults) == before {
		r.fault(written, fmt.Sprintf("raise timeout or write at most %s", *timeout),
			"attempt_timeout %s is longer than the timeout %s of the whole call", *attempt, *timeout)
	}
	*attempt = *timeout
}

func (r *reader) readDependencies(n ast.Node, d defaults) []Dependency {
	entries := r.entries(n, "dependency", []string{"an id for each dependency"})
	if m, ok := n.(ast.MapNode); ok && !m.MapRange().Next() {
		r.fault(n, "name at least one, with its url", "there are no dependencies")
	}
	var all []Dependency
	var untrippable []entry
	for _, e := range entries {
		dep := r.readDependency(e, d)
		all = append(all, dep)
		if dep.Settings.FailureRate == recloser.Off && dep.Settings.Consecutive == recloser.Off {
			untrippable = append(untrippable, e)
		}
	}
	if len(untrippable) > 0 {
		r.warn(untrippable[0].key, "failure_rate and consecutive are both off for %s, so no run and no share of bad calls ever trips it; "+
			"leave one of them on", andMore(untrippable[0].name, len(untrippable)-1))
	}
	return all
}

// andMore names the first of several.
func andMore(first string, more int) string {
	if more == 0 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, more)
}

var dependencyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (r *reader) readDependency(e entry, d defaults) Dependency {
	dep := Dependency{
		ID: e.name, Name: e.name,
		Timeout: d.timeout, AttemptTimeout: d.attemptTimeout,
		Settings: d.breaker.settings,
	}
	if !dependencyID.MatchString(e.name) {
		r.fault(e.key, "use up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit; name: can be anything",
			"%q cannot be the id of a dependency", e.name)
	}
	if isNull(e.value) {
		r.fault(e.key, "add url: with its address", "dependency %q has no url", e.name)
		return dep
	}
	var hasURL bool
	r.timed(e.value, &dep.Timeout, &dep.AttemptTimeout, fields{
		"url": func(n ast.Node) {
			hasURL = true
			dep.URL = r.baseURL(n)
		},
		"name":    r.setText(&dep.Name),
		"group":   r.setText(&dep.Group),
		"breaker": func(n ast.Node) { dep.Settings = r.readBreaker(n, d.breaker.settings).settings },
	})
	if _, ok := e.value.(ast.MapNode); ok && !hasURL {
		r.fault(e.key, "add url: with its address", "dependency %q has no url", e.name)
	}
	return dep
}

// baseURL reads where a dependency is. One at an address of the gateway itself
// would have it call itself for ever.
func (r *reader) baseURL(n ast.Node) *url.URL {
	u, ok := r.httpURL(n)
	if !ok {
		return nil
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	for _, own := range r.own {
		host, ownPort, err := net.SplitHostPort(own.address)
		if err == nil && port == ownPort && sameMachine(host, u.Hostname()) {
			r.fault(n, "write where the dependency itself is", "%s is the gateway's own %s address %s, so it would call itself for ever", u.Redacted(), own.setting, own.address)
			return nil
		}
	}
	return u
}

// sameMachine reports whether a call of host reaches who listens on listen.
// Other names and addresses of this machine are not known.
func sameMachine(listen, host string) bool {
	a, aErr := netip.ParseAddr(listen)
	b, bErr := netip.ParseAddr(host)
	everywhere := listen == "" || aErr == nil && a.IsUnspecified()
	here := bErr == nil && b.IsUnspecified() // which, called, is a loopback address
	switch {
	case everywhere && (here || IsLoopback(host)), here && IsLoopback(listen):
		return true
	case aErr == nil && bErr == nil:
		return a.Unmap() == b.Unmap()
	case IsLoopback(listen) && IsLoopback(host): // one of them is localhost
		return true
	}
	return strings.EqualFold(listen, host)
}
