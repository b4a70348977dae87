package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/history"
)

// shelf is a store in memory.
type shelf struct {
	tokens  []history.Token
	used    map[string]time.Time
	commits int
	err     error
}

func (s *shelf) Tokens(context.Context) ([]history.Token, error) {
	return append([]history.Token(nil), s.tokens...), s.err
}

func (s *shelf) TokensUsed(context.Context) (map[string]time.Time, error) { return s.used, s.err }

func (s *shelf) Commit(_ context.Context, _ history.Act, _ ...history.Change) error {
	s.commits++
	return s.err
}

func request(t *testing.T, authorization ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = "127.0.0.1:50000"
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}

func TestCreate(t *testing.T) {
	secret, token := Create("cms", Operator, "coast", time.Time{})
	id, random, err := split(secret)
	if err != nil || id != token.ID || !strings.HasPrefix(secret, "rcl_"+id+"_") {
		t.Fatalf("%q: id %q, %v; want the ID %q", secret, id, err, token.ID)
	}
	bits, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(random))
	if err != nil || len(bits) != 32 {
		t.Errorf("the secret has %d bytes (%v), want 32", len(bits), err)
	}
	if sum := sha256.Sum256([]byte(random)); !bytes.Equal(token.Hash, sum[:]) {
		t.Error("the hash is not that of the secret")
	}
	if text := fmt.Sprintf("%+v", token); strings.Contains(text, random) {
		t.Error("what goes to the store has the secret")
	}
	if token.Name != "cms" || token.Role != "operator" || token.Group != "coast" || token.Created.IsZero() {
		t.Errorf("%+v", token)
	}
	if again, _ := Create("cms", Operator, "coast", time.Time{}); again == secret {
		t.Error("two tokens are the same")
	}
}

func TestAuthenticate(t *testing.T) {
	now := time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC)
	good, token := Create("cms", Operator, "coast", time.Time{})
	dated, expiring := Create("dated", Viewer, "", now.Add(time.Hour))
	_, other := Create("other", Admin, "", time.Time{})
	odd, oddRole := Create("odd", "emperor", "", time.Time{})
	store := &shelf{tokens: []history.Token{token, expiring, other, oddRole}}
	tokens := NewTokens(store, func() time.Time { return now })

	_, secret, _ := split(good)
	unknown, _ := Create("unknown", Admin, "", time.Time{})
	for _, tt := range []struct {
		name   string
		header []string
		want   string // of the error; "": let in
	}{
		{"a good token", []string{"Bearer " + good}, ""},
		{"case of the scheme", []string{"bearer " + good}, ""},
		{"another's ID", []string{"Bearer rcl_" + other.ID + "_" + secret}, "wrong secret"},
		{"no such token", []string{"Bearer " + unknown}, "no such token"},
		{"unknown role", []string{"Bearer " + odd}, "unknown role"},
		{"cut", []string{"Bearer " + good[:len(good)-1]}, "not a token of this gateway"},
		{"longer", []string{"Bearer " + good + "a"}, "not a token of this gateway"},
		{"upper case", []string{"Bearer " + strings.ToUpper(good)}, "not a token of this gateway"},
		{"only the hash", []string{fmt.Sprintf("Bearer rcl_%s_%x", token.ID, token.Hash)}, "not a token of this gateway"},
		{"another program's", []string{"Bearer ghp_0123456789"}, "not a token of this gateway"},
		{"empty", []string{"Bearer "}, "not a token of this gateway"},
		{"no header", nil, "no credentials"},
		{"a password", []string{"Basic Z3Vlc3Q6czNjcmV0"}, "no credentials"},
		{"two headers", []string{"Bearer " + good, "Bearer " + good}, "no credentials"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tokens.Authenticate(request(t, tt.header...))
			if tt.want == "" {
				if want := (Caller{Name: "cms", Role: Operator, Group: "coast", Token: token.ID}); err != nil || c != want {
					t.Errorf("%+v, %v; want %+v", c, err, want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || c != (Caller{}) {
				t.Errorf("%+v, %v; want %q", c, err, tt.want)
			}
			for _, shown := range tt.header {
				if _, shown, _ = strings.Cut(shown, " "); err != nil && len(shown) > 8 && strings.Contains(err.Error(), shown) {
					t.Errorf("%q repeats what was shown", err)
				}
			}
		})
	}

	t.Run("until it expires", func(t *testing.T) {
		now = expiring.Expires.Add(-time.Nanosecond)
		if _, err := tokens.Authenticate(request(t, "Bearer "+dated)); err != nil {
			t.Error(err)
		}
		now = expiring.Expires
		if _, err := tokens.Authenticate(request(t, "Bearer "+dated)); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("%v, want that it has expired", err)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		store.tokens = store.tokens[1:]
		if _, err := tokens.Authenticate(request(t, "Bearer "+good)); err == nil {
			t.Error("let in")
		}
	})
	t.Run("no store", func(t *testing.T) {
		store.err = errors.New("disk full")
		if _, err := tokens.Authenticate(request(t, "Bearer "+good)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", err)
		}
	})
}

// A client that goes away does not look like one with a wrong token.
func TestCancelledRequestIsChecked(t *testing.T) {
	good, token := Create("cms", Operator, "", time.Time{})
	tokens := NewTokens(obeying{&shelf{tokens: []history.Token{token}}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tokens.Authenticate(request(t, "Bearer "+good).WithContext(ctx)); err != nil {
		t.Error(err)
	}
}

type obeying struct{ *shelf }

func (s obeying) Tokens(ctx context.Context) ([]history.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.shelf.Tokens(ctx)
}

func TestLastUsed(t *testing.T) {
	now := time.Date(2027, 1, 31, 18, 0, 42, 7, time.UTC)
	good, token := Create("cms", Operator, "", time.Time{})
	_, idle := Create("idle", Operator, "", time.Time{})
	store := &shelf{tokens: []history.Token{token, idle}}
	tokens := NewTokens(store, func() time.Time { return now })
	if _, err := tokens.Authenticate(request(t, "Bearer "+good)); err != nil {
		t.Fatal(err)
	}
	all, err := tokens.All(t.Context())
	if err != nil || !all[0].LastUsed.Equal(now.Truncate(time.Second)) || !all[1].LastUsed.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	store.tokens = nil
	if all, err := tokens.All(t.Context()); err != nil || len(all) != 0 || len(tokens.used) != 0 {
		t.Errorf("after the revocation: %+v, %v, used %v", all, err, tokens.used)
	}
}

// When a token was used outlives a kill, but for the last minute; a request waits for no
// disk, and nothing is written while nothing is new.
func TestLastUsedIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recloser.db")
	now := time.Date(2027, 1, 31, 18, 0, 42, 0, time.UTC)
	store := history.Open(history.Options{Path: path})
	good, token := Create("cms", Operator, "", time.Time{})
	_, gone := Create("gone", Operator, "", time.Time{})
	if err := store.Commit(t.Context(), history.Act{}, history.PutToken(token), history.PutToken(gone)); err != nil {
		t.Fatal(err)
	}
	tokens := NewTokens(store, func() time.Time { return now })
	use := func() {
		t.Helper()
		if _, err := tokens.Authenticate(request(t, "Bearer "+good)); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() time.Time {
		t.Helper()
		used, err := store.TokensUsed(t.Context())
		if err != nil || len(used) > 1 {
			t.Fatalf("%v, %v", used, err)
		}
		return used[token.ID]
	}
	keep := func(atOnce bool) time.Time {
		t.Helper()
		if err := tokens.Keep(t.Context(), atOnce); err != nil {
			t.Fatal(err)
		}
		return kept()
	}
	if at := keep(true); !at.IsZero() {
		t.Errorf("never used, but kept as %s", at)
	}
	use()
	if at := kept(); !at.IsZero() {
		t.Error("a request has written")
	}
	first := now
	if at := keep(false); !at.Equal(first) {
		t.Errorf("kept %s, want %s", at, first)
	}
	now = now.Add(59 * time.Second)
	use()
	if at := keep(false); !at.Equal(first) {
		t.Errorf("within a minute %s was kept, want %s still", at, first)
	}
	now = now.Add(time.Second)
	if at := keep(false); !at.Equal(first.Add(59 * time.Second)) {
		t.Errorf("after a minute %s is kept", at)
	}
	now = now.Add(time.Second)
	use()
	last := now
	if at := keep(true); !at.Equal(last) {
		t.Errorf("at the end %s is kept, want %s", at, last)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	store = history.Open(history.Options{Path: path})
	defer store.Close(t.Context())
	tokens = NewTokens(store, func() time.Time { return now.Add(time.Hour) })
	all, err := tokens.All(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, is := range all {
		if want := map[string]time.Time{token.ID: last}[is.ID]; !is.LastUsed.Equal(want) {
			t.Errorf("after a restart %s was used %s, want %s", is.Name, is.LastUsed, want)
		}
	}
}

// What cannot be kept is tried again.
func TestLastUsedIsTriedAgain(t *testing.T) {
	good, token := Create("cms", Operator, "", time.Time{})
	store := &shelf{tokens: []history.Token{token}}
	tokens := NewTokens(store, nil)
	if _, err := tokens.Authenticate(request(t, "Bearer "+good)); err != nil {
		t.Fatal(err)
	}
	store.err = errors.New("disk full")
	if err := tokens.Keep(t.Context(), true); !errors.Is(err, store.err) {
		t.Errorf("%v", err)
	}
	store.err = nil
	for range 2 {
		if err := tokens.Keep(t.Context(), true); err != nil {
			t.Error(err)
		}
	}
	if store.commits != 1 {
		t.Errorf("%d writes of one use, want 1", store.commits)
	}
}
