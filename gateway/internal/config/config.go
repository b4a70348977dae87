// Package config reads recloser.yaml: strictly, with every fault named by file,
// line and column and, where a word was misspelt, the word that was meant.
package config

import (
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// Config is a whole, checked configuration with every default filled in.
type Config struct {
	File         string // where it was read from, for messages
	Listen       string // address for calls; default ":8080"
	TLS          *TLS   // of Listen; nil: plain HTTP
	Limits       Limits
	Admin        Admin
	Storage      Storage
	Store        Store         // what nodes share
	Fleet        Fleet         // which nodes, and how; without a Store it means nothing
	Grace        time.Duration // how long a shutdown waits for running calls; default 15 s
	Dependencies []Dependency  // in the order of the file
	Routes       []Route       // in the order of the file
	Alerts       Alerts
	Traces       *Traces  // nil: none are made
	Include      []string // patterns of the files with more dependencies and routes, as written
	Warnings     []string // what is allowed and hardly meant, as "file:line:column: ..."

	defaults Dependency        // what holds for one that is added at run time
	origins  map[string]string // of every value that was written, by its path
	sources  []source          // what it was read from
}

// TLS is how a listener proves who it is. Both files are read again when they change.
type TLS struct {
	Cert, Key string // PEM files; the certificate's with its chain
}

// Limits are what callers may take up, all together or each.
type Limits struct {
	InFlight      int           // calls that run at once in this process; default 8192
	Headers       int           // bytes of a request's headers; default 64 KiB
	Body          int64         // bytes of a request's body; 0: any. An ask's is never above 1 MiB
	HeaderTimeout time.Duration // from the first byte of a request to the end of its headers; default 10 s
	BodyIdle      time.Duration // longest pause of a client in the middle of a request's body; default 30 s
	AnswerIdle    time.Duration // a client may take nothing of its answer for that long; default 1 min, at most 0: for ever
	Idle          time.Duration // a connection is kept for that long without a request; default 2 min
	Streams       int           // requests at once on one HTTP/2 connection; default 250
}

// Storage is where history and acts are kept.
type Storage struct {
	Path string // of the SQLite file; default: beside the config file, its name with .db; "" is memory only (storage: off)
}

// Admin is the listener for people, API and metrics.
type Admin struct {
	Listen       string         // default "127.0.0.1:8081"; another than a loopback address only with SignIn
	URL          string         // how people reach it, for links in messages; default Listen with http:// or, with TLS, https://; "" if Listen names no host or the system chooses its port
	TLS          *TLS           // nil: plain HTTP
	SignIn       bool           // everything but the health checks asks for a token; default false
	Embed        []string       // origins whose pages may show /embed/ of the panel in a frame
	AllowTargets []netip.Prefix // link-local and metadata addresses that a dependency added at run time may have all the same
}

// Dependency is the other side of calls.
type Dependency struct {
	ID             string
	Name           string // for people; default: ID
	Group          string
	Labels         map[string]string // for selectors, such as region: coast
	URL            *url.URL
	HTTP           HTTP            // which HTTP it speaks; default Auto
	Timeout        time.Duration   // of a whole call, to the end of the headers; default 5 s
	AttemptTimeout time.Duration   // of one attempt, to the end of the headers; default 3 s
	BodyIdle       time.Duration   // longest pause of the dependency in the middle of a response's body; recloser.Off: any. Default 60 s
	Settings       recloser.Config // of the breaker, validated; defaults of the gateway (slow_call 2 s, cancel_on_trip) filled in
	Suspect        time.Duration   // a call that runs longer is suspect; 0: learned, recloser.Off: never
	Probe          *Probe          // nil: none
	Bulkhead       int             // calls at once, at most; default 1024
	Retry          guard.Retry     // zero: one attempt
	RateLimit      guard.RateLimit // of calls to the dependency, from all callers; zero: none
	Key            *Key            // nil: one breaker for all calls
}

// HTTP is a version of the protocol.
type HTTP string

// What a dependency may speak.
const (
	Auto  HTTP = "auto"  // HTTP/2 where TLS agrees on it, else HTTP/1.1
	HTTP1 HTTP = "http1" // HTTP/1.1 only
	H2C   HTTP = "h2c"   // HTTP/2 without TLS, known beforehand
)

// Probe is a light request by which the gateway asks a dependency how it is.
type Probe struct {
	Path    string        // below the dependency's URL, or with a query; GET
	Timeout time.Duration // default 1 s
	Idle    time.Duration // how often a closed dependency without traffic is probed; default 60 s, recloser.Off: never
}

// Key splits a dependency into a breaker for each value of a request's header.
type Key struct {
	Header string
	Max    int // breakers that are kept; default 10000
}

// Route says what happens to requests for a path: with Ask a group is asked,
// else one dependency is called, which Dependency or the path names.
type Route struct {
	Path          string // "/hotels/{dependency}/*", or an exact path
	Dependency    string // proxy everything to this one; "" if the path has {dependency} or the route asks
	Ask           *Ask   // nil: a proxy route
	ReleaseOnTrip bool   // callers that wait are released on a trip; default true
	RateLimit     *RateLimit
	LastKnown     *LastKnown
}

// RateLimit bounds how often a route is called. It answers 429 and never counts
// against a dependency.
type RateLimit struct {
	Per   string  // "client" (its address), "route" (all together), or "header X-Name"
	Rate  float64 // requests a second
	Burst int     // at once after a pause; default Rate, rounded up
	Max   int     // clients that are told apart; default 10000
}

// LastKnown answers with what was answered last, where there is no answer now.
type LastKnown struct {
	For    time.Duration // how old it may be
	Key    []string      // request headers that tell answers apart, besides method, path and query; never shared across credentials
	Max    int           // answers kept; default 1000
	Memory int64         // bytes kept in all; default 16 MiB
}

// Decide is how an ask's answers become one.
type Decide string

// The ways to decide.
const (
	FirstYes Decide = "first-yes"
	All      Decide = "all"
	Quorum   Decide = "quorum"
)

// Everyone is the group that all dependencies belong to.
const Everyone = "*"

// Ask sends one request to every member of a group.
type Ask struct {
	Group     string      // Everyone is all dependencies
	Accept    string      // the expression as written
	Condition *vm.Program // Accept as made by Compile, which says what to run it with
	Decide    Decide
	Quorum    int // for Quorum: how many must say yes
	Timeout   time.Duration
}

// Alerts says who is told, and when.
type Alerts struct {
	Calm     time.Duration // an incident is over once its dependency has stayed closed for that long; default 60 s
	Reminder time.Duration // after the start of an incident that lasts, then doubling; default 1 h
	Channels []Channel     // by kind, and in the order of the file
}

// ChannelKind is a kind of channels; in the file it is the key of their list.
type ChannelKind string

// The kinds of channels.
const (
	Teams        ChannelKind = "teams"        // Microsoft Teams, by a Workflows webhook
	Slack        ChannelKind = "slack"        // by an incoming webhook
	Webhook      ChannelKind = "webhook"      // a program of one's own: CloudEvents
	Alertmanager ChannelKind = "alertmanager" // its API v2
	Shoutrrr     ChannelKind = "shoutrrr"     // whatever that library knows by a URL
)

// Channel is a way to reach people.
type Channel struct {
	Kind     ChannelKind
	Name     string   // its own among all channels; default: the kind and a number
	URL      Secret   // whoever knows it can post
	Key      Secret   // of a Webhook: signs what is sent; "": nothing is signed
	Groups   []string // of dependencies that it is told about; none: all, or, if it is another's Fallback, no others than are handed to it
	Fallback string   // name of the channel that gets what this one does not take; "": none
}

// IsFallback reports whether another channel names this one as its fallback.
func (a *Alerts) IsFallback(name string) bool {
	return slices.ContainsFunc(a.Channels, func(c Channel) bool { return c.Fallback == name })
}
