package redisstore

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Options say where the server is and how it is used. The zero value is a server on
// this machine. See [ParseURL] for their form as one line.
type Options struct {
	// Addrs are "host:port": of the server; of Sentinels, if Master is set; else of
	// some nodes of a cluster, if there are several. Default: 127.0.0.1:6379, and
	// with Master 127.0.0.1:26379.
	Addrs []string

	// Master is the name under which Sentinels know the server; "": without Sentinel.
	Master string

	// Cluster says that the one address is of a cluster. With several it is one anyway.
	Cluster bool

	// User and Password are those of the server; "" if it asks for none.
	User, Password string

	// SentinelUser and SentinelPassword are those of the Sentinels.
	SentinelUser, SentinelPassword string

	// DB is the number of the database, 0 by default. A cluster has no other.
	DB int

	// TLS, if not nil, encrypts all connections.
	TLS *tls.Config

	// Prefix is what the keys of this fleet begin with: 1 to 64 bytes without { and },
	// "recloser" by default. Two fleets on one server need two.
	Prefix string

	// Timeout bounds each use of the server, with the connection that it may need:
	// 10ms to 10s, 250ms by default.
	Timeout time.Duration
}

// Defaults of [Options].
const (
	DefaultPrefix  = "recloser"
	DefaultTimeout = 250 * time.Millisecond
)

const (
	port         = "6379"
	sentinelPort = "26379"
)

// Validate returns all that is wrong with the options, joined.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("redisstore: "+format, args...))
	}
	for _, addr := range o.Addrs {
		host, p, err := net.SplitHostPort(addr)
		if n, numErr := strconv.Atoi(p); err != nil || host == "" || numErr != nil || n < 1 || n > 65535 {
			bad("address %q is not host:port, as in redis.example:6379", addr)
		}
	}
	cluster := o.Cluster || len(o.Addrs) > 1
	if o.Master != "" && o.Cluster {
		bad("a cluster has no Sentinel: name a master or say cluster, not both")
	}
	if o.Master == "" && cluster && o.DB != 0 {
		bad("database %d of a cluster: it has database 0 alone; another prefix keeps fleets apart", o.DB)
	}
	if o.DB < 0 {
		bad("database %d: it must be 0 or more", o.DB)
	}
	if o.User != "" && o.Password == "" {
		bad("a user without a password: write user:password@, or :password@ if that is the password") // so it is not shown
	}
	if len(o.Prefix) > 64 || strings.ContainsAny(o.Prefix, "{}") {
		bad("prefix %q: it must have 1 to 64 bytes, without { and }", o.Prefix)
	}
	if o.Timeout != 0 && (o.Timeout < 10*time.Millisecond || o.Timeout > 10*time.Second) {
		bad("timeout %v: it must be 10ms to 10s", o.Timeout)
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if len(o.Addrs) == 0 {
		p := port
		if o.Master != "" {
			p = sentinelPort
		}
		o.Addrs = []string{net.JoinHostPort("127.0.0.1", p)}
	}
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return o
}
