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
	TokensUsed(ctx context.Context) (map[string]time.Time, error) // when they were last, by ID
	Commit(ctx context.Context, act history.Act, changes ...history.Change) error
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
	used map[string]time.Time // by ID, since the start
	kept time.Time            // when used was
	news bool                 // used is not what was kept
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
	if at := now.Truncate(time.Second); !t.used[id].Equal(at) {
		t.used[id], t.news = at, true
	}
}

// All returns the tokens there are, with when each was used last.
func (t *Tokens) All(ctx context.Context) ([]history.Token, error) {
	all, err := t.store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	before, err := t.store.TokensUsed(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	used := make(map[string]time.Time, len(all))
	for i := range all {
		id := all[i].ID
		if all[i].LastUsed = before[id]; t.used[id].After(before[id]) {
			all[i].LastUsed = t.used[id]
			used[id] = t.used[id]
		}
	}
	t.used = used // without those that were revoked
	return all, nil
}

// keepEvery is how often it is written down that tokens were used: no request waits
// for a disk for that, and a kill loses no more.
const keepEvery = time.Minute

// Keep writes down when tokens were used, if that is due; at once with now.
func (t *Tokens) Keep(ctx context.Context, now bool) error {
	t.mu.Lock()
	at := t.now()
	due := t.news && (now || at.Sub(t.kept).Abs() >= keepEvery)
	if due {
		t.news, t.kept = false, at
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	all, err := t.All(ctx)
	used := make(map[string]time.Time, len(all))
	for _, token := range all {
		if !token.LastUsed.IsZero() {
			used[token.ID] = token.LastUsed
		}
	}
	if err == nil {
		err = t.store.Commit(ctx, history.Act{}, history.PutTokensUsed(used))
	}
	if err != nil {
		t.mu.Lock()
		t.news = true
		t.mu.Unlock()
	}
	return err
}
