// Package config reads recloser.yaml: strictly, with every fault named by file,
// line and column and, where a word was misspelt, the word that was meant.
package config

import (
	"net/url"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/recloser-go/recloser"
)

// Config is a whole, checked configuration with every default filled in.
type Config struct {
	File         string // where it was read from, for messages
	Listen       string // address for calls; default ":8080"
	Admin        Admin
	Grace        time.Duration // how long a shutdown waits for running calls; default 15 s
	Dependencies []Dependency  // in the order of the file
	Routes       []Route       // in the order of the file
	Alerts       Alerts
	Warnings     []string // what is allowed and hardly meant, as "file:line:column: ..."
}

// Admin is the listener for people, API and metrics.
type Admin struct {
	Listen string // default "127.0.0.1:8081"; only loopback addresses in this version
	URL    string // how people reach it, for links in messages; default "http://" + Listen, "" if the system chooses its port
}

// Dependency is the other side of calls.
type Dependency struct {
	ID             string
	Name           string // for people; default: ID
	Group          string
	URL            *url.URL
	Timeout        time.Duration   // of a whole call, to the end of the headers; default 5 s
	AttemptTimeout time.Duration   // of one attempt, to the end of the headers; default 3 s
	Settings       recloser.Config // of the breaker, validated; defaults of the gateway (slow_call 2 s, cancel_on_trip) filled in
}

// Route says what happens to requests for a path: with Ask a group is asked,
// else one dependency is called, which Dependency or the path names.
type Route struct {
	Path          string // "/hotels/{dependency}/*", or an exact path
	Dependency    string // proxy everything to this one; "" if the path has {dependency} or the route asks
	Ask           *Ask   // nil: a proxy route
	ReleaseOnTrip bool   // callers that wait are released on a trip; default true
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

// Alerts lists where messages go.
type Alerts struct {
	Teams []Teams
}

// Teams is a Microsoft Teams channel behind a Workflows webhook.
type Teams struct {
	Name string
	URL  Secret
}
