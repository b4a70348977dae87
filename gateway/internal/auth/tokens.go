package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Store is where tokens are kept.
type Store interface {
	Tokens(ctx context.Context) ([]history.Token, error)
}

// Tokens knows callers by the token they show: rcl_<id>_<secret>.
//
// Only the SHA-256 of a secret is kept. A slow hash would buy nothing: it makes
// guessing passwords that people thought of expensive, and a secret is 256
// random bits.
type Tokens struct {
	store Store
	now   func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // by ID
}

// NewTokens returns those of a store. now is nil for time.Now.
func NewTokens(store Store, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{store: store, now: now, used: make(map[string]time.Time)}
}

const (
	prefix      = "rcl_"
	idBytes     = 5
	secretBytes = 32
)

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Create makes a token. What it returns first is for its owner, who sees it this
// once; the other is for the store. The zero time is never.
func Create(name string, role Role, group string, expires time.Time) (secret string, t history.Token) {
	id, random := make([]byte, idBytes), make([]byte, secretBytes)
	_, _ = rand.Read(id) // never fails
	_, _ = rand.Read(random)
	t = history.Token{
		ID: text(id), Name: name, Role: string(role), Group: group,
		Created: time.Now().UTC().Truncate(time.Millisecond), Expires: expires,
	}
	t.Hash = hash(text(random))
	return prefix + t.ID + "_" + text(random), t
}

func text(b []byte) string { return strings.ToLower(encoding.EncodeToString(b)) }

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Authenticate knows the caller by the header Authorization: Bearer.
func (t *Tokens) Authenticate(r *http.Request) (Caller, error) {
	shown, ok := bearer(r)
	if !ok {
		return Caller{}, ErrNoCredentials
	}
	id, secret, err := split(shown)
	if err != nil {
		return Caller{}, err
	}
	token, known, err := t.find(r.Context(), id)
	if err != nil {
		return Caller{}, err
	}
	// An ID that there is not takes as long as one that there is.
	right := subtle.ConstantTimeCompare(token.Hash, hash(secret)) == 1
	now := t.now()
	switch {
	case !known:
		return Caller{}, errors.New("no such token")
	case !right:
		return Caller{}, fmt.Errorf("wrong secret for the token %q (%s)", token.Name, token.ID)
	}
	if err := lapsed(token, now); err != nil {
		return Caller{}, err
	}
	t.use(token.ID, now)
	return callerOf(token), nil
}

// lapsed returns why a token that there is does not hold; nil: it does.
func lapsed(t history.Token, now time.Time) error {
	switch {
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return fmt.Errorf("the token %q (%s) has expired", t.Name, t.ID)
	case Role(t.Role).rank() == 0:
		return fmt.Errorf("the token %q (%s) has an unknown role %q", t.Name, t.ID, t.Role)
	}
	return nil
}

// bearer returns what a request shows as a bearer's token.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, shown, ok := strings.Cut(values[0], " ")
	return strings.TrimSpace(shown), ok && strings.EqualFold(scheme, "Bearer")
}

// split takes a token apart. Its error does not repeat what was shown, which may
// be another program's secret.
func split(shown string) (id, secret string, err error) {
	rest, ok := strings.CutPrefix(shown, prefix)
	id, secret, cut := strings.Cut(rest, "_")
	if !ok || !cut || len(id) != encoding.EncodedLen(idBytes) || len(secret) != encoding.EncodedLen(secretBytes) {
		return "", "", errors.New("not a token of this gateway")
	}
	return id, secret, nil
}

// nobody is compared with where there is no such token.
var nobody = history.Token{Hash: make([]byte, sha256.Size)}

// find reads the store each time: a token that was revoked must not live on. The
// caller's patience is no reason to fail.
func (t *Tokens) find(ctx context.Context, id string) (history.Token, bool, error) {
	all, err := t.store.Tokens(context.WithoutCancel(ctx))
	if err != nil {
		return history.Token{}, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if i := slices.IndexFunc(all, func(o history.Token) bool { return o.ID == id }); i >= 0 {
		return all[i], true, nil
	}
	return nobody, false, nil
}

// use notes when a token was used, by the second.
func (t *Tokens) use(id string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[id] = now.Truncate(time.Second)
}

// All returns the tokens there are, with when each was last used as far as this
// process knows.
func (t *Tokens) All(ctx context.Context) ([]history.Token, error) {
	all, err := t.store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	used := make(map[string]time.Time, len(all))
	for i := range all {
		if at, ok := t.used[all[i].ID]; ok {
			used[all[i].ID] = at
			if at.After(all[i].LastUsed) {
				all[i].LastUsed = at
			}
		}
	}
	t.used = used // without those that were revoked
	return all, nil
}
