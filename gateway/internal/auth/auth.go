// Package auth says who makes a request and what that caller may do.
package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Role is what a caller may do. Each may do all that the one before it may.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // isolates, holds closed, releases, tries, resets, plans maintenance
	Admin    Role = "admin"    // defines dependencies, reloads, reads the config, makes tokens
)

// Roles lists every role, the least first.
func Roles() []Role { return []Role{Viewer, Operator, Admin} }

// Covers reports whether a caller of role r may do what needs the role need. A
// role that there is not covers nothing.
func (r Role) Covers(need Role) bool { return r.rank() > 0 && r.rank() >= need.rank() }

func (r Role) rank() int {
	for i, role := range Roles() {
		if r == role {
			return i + 1
		}
	}
	return 0
}

// Caller is who makes a request.
type Caller struct {
	Name  string // for the audit, such as "cms" or "operator (127.0.0.1)"
	Role  Role
	Group string // sees and acts on dependencies of this group only; "": on all
	From  string // address, without a port
	Token string // ID of the token that was shown; "" if there was none
}

// Sees reports whether dependencies of a group are this caller's business.
func (c Caller) Sees(group string) bool { return c.Group == "" || c.Group == group }

type key struct{}

// From returns the caller of a request whose context this is. Without one it is
// nobody, who may do nothing.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}

// With returns a context of a request that c makes.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// Authenticator finds out who makes a request. Tokens is one; another could take
// those of an identity provider. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns ErrNoCredentials if the request has none of the kind
	// that this authenticator knows, ErrUnavailable if it cannot find out, and any
	// other error if they are wrong. The error is for the log: a client is not told
	// what was wrong, and the error must not say what was shown.
	Authenticate(r *http.Request) (Caller, error)
}

// What an Authenticator may return.
var (
	ErrNoCredentials = errors.New("no credentials")                // of its kind
	ErrUnavailable   = errors.New("credentials cannot be checked") // now
)

// ByAddress returns who a request without credentials comes from where nobody
// needs to sign in: whoever can reach the address may do everything.
func ByAddress(addr string) Caller {
	return Caller{Name: fmt.Sprintf("operator (%s)", addr), Role: Admin, From: addr}
}
