package redisstore

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	form    = "redis://host:6379/0, with user:password@ before the host if it asks for them, and rediss:// for TLS"
	escapes = "in a password, %40 stands for @, %2F for /, %23 for #, %3F for ? and %25 for %"
)

// ParseURL reads options from one line:
//
//	redis://user:password@host:6379/0?prefix=shop        one server; rediss:// is with TLS
//	redis://host:26379?master=main&addr=host2:26379      what Sentinels call main
//	redis://host:6379?cluster=true&addr=host2:6379       a cluster, by some of its nodes
//
// Further parameters are timeout, as 500ms, sentinel_user and sentinel_password. In a
// password, %40 stands for @, %2F for /, %23 for #, %3F for ? and %25 for %. No error
// shows a password.
func ParseURL(raw string) (Options, error) {
	bad := func(format string, args ...any) (Options, error) {
		return Options{}, fmt.Errorf("redisstore: the URL "+Mask(raw)+" "+format, args...)
	}
	u, err := url.Parse(raw)
	if err != nil || !unmistakable(u, raw) { // err quotes the URL, so it is not passed on
		return bad("cannot be read: write %s; %s", form, escapes)
	}
	var o Options
	switch u.Scheme {
	case "redis":
	case "rediss":
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	default:
		return bad("does not begin with redis:// or rediss://: write %s", form)
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil {
			return bad("has %q after its host, where the number of a database belongs, as /0", u.Path)
		}
	}
	o.User = u.User.Username()
	o.Password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("has parameters that cannot be read: write ?name=value&name=value; %s", escapes)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if n := len(query[name]); n > 1 && name != "addr" {
			return bad("says %s %d times: once is right", name, n)
		}
		if err := o.set(name, query.Get(name)); err != nil {
			return bad("has %w", err)
		}
	}
	for _, addr := range append([]string{u.Host}, query["addr"]...) {
		o.Addrs = append(o.Addrs, o.withPort(addr))
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("%w (in the URL %s)", err, Mask(raw))
	}
	return o, nil
}

// set sets what a parameter of a URL says.
func (o *Options) set(name, value string) (err error) {
	switch name {
	case "addr": // read later, as the port that it may lack depends on the others
	case "master":
		o.Master = value
	case "cluster":
		if o.Cluster, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("cluster=%s: it must be true or false", value)
		}
	case "prefix":
		o.Prefix = value
	case "timeout":
		if o.Timeout, err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("timeout=%s: it must be a duration, as 500ms", value)
		}
	case "sentinel_user":
		o.SentinelUser = value
	case "sentinel_password":
		o.SentinelPassword = value
	default:
		return fmt.Errorf("the parameter %q, and there are only addr, cluster, master, prefix, sentinel_password, sentinel_user and timeout", name)
	}
	return nil
}

// withPort returns an address with the port that it has, or that of its kind of server.
func (o *Options) withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	p := port
	if o.Master != "" {
		p = sentinelPort
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), p)
}

// unmistakable reports whether the host of a URL is one. A password may hold a / or ? or # that
// was not escaped: then its beginning is what looks like the host, and an @ comes later.
func unmistakable(u *url.URL, raw string) bool {
	_, rest, _ := strings.Cut(raw, "://")
	i := strings.IndexAny(rest, "/?#")
	return u.Scheme != "" && u.Hostname() != "" && u.Fragment == "" && (i < 0 || !strings.Contains(rest[i:], "@"))
}

// Mask returns a URL as it may be shown: with its host and path, and without user, password and
// parameters. Of one that cannot be read it shows nothing.
func Mask(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !unmistakable(u, raw) {
		return "***"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		return strings.Replace(shown.String(), "://", "://***@", 1)
	}
	return shown.String()
}
