//go:build unix

package pgstore

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore/pgtest"
)

// urlOf is the server's URL with another user, database or host; "" leaves it.
func urlOf(server *pgtest.Server, user, password, database, host string) string {
	u := &url.URL{Scheme: "postgres", User: url.UserPassword(pgtest.User, pgtest.Password), Host: server.Addr(), Path: "/postgres", RawQuery: "sslmode=disable"}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	if database != "" {
		u.Path = "/" + database
	}
	if host != "" {
		u.Host = host
	}
	return u.String()
}

// load opens a store and loads, as a node does first.
func load(t *testing.T, o Options) ([]fleet.Doc, error) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	docs, _, err := s.Load(t.Context())
	return docs, err
}

// What may be wrong with a database is said in words that tell what to do.
func trouble(t *testing.T, server *pgtest.Server) {
	server.Exec(t, `
		CREATE ROLE alice LOGIN PASSWORD 'secret';
		CREATE ROLE bob LOGIN PASSWORD 'secret';
		CREATE ROLE few LOGIN PASSWORD 'secret' CONNECTION LIMIT 0;
		GRANT CREATE ON DATABASE postgres TO alice;
		CREATE SCHEMA given AUTHORIZATION bob;
		CREATE SCHEMA newer; CREATE TABLE newer.about (version integer); INSERT INTO newer.about VALUES (2);`)
	server.Exec(t, `CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0`)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()

	for _, c := range []struct {
		name string
		o    Options
		is   error
		want []string // none: it works
	}{
		{name: "a user who may make the schema", o: Options{URL: urlOf(server, "alice", "secret", "", "")}},
		{name: "a schema with all that it may have", o: Options{URL: server.URL(), Schema: "shop-2:a_B"}},
		{name: "TLS", o: Options{URL: strings.Replace(server.URL(), "disable", "verify-full&sslrootcert="+server.Certificate(), 1)}},
		{
			name: "TLS of somebody unknown", o: Options{URL: strings.Replace(server.URL(), "disable", "verify-full", 1)},
			want: []string{"certificate is not to be trusted", "sslrootcert"},
		},
		{name: "a user whose schema is there", o: Options{URL: urlOf(server, "bob", "secret", "", ""), Schema: "given"}},
		{
			name: "a wrong password", o: Options{URL: urlOf(server, "alice", "wrong", "", "")},
			want: []string{`does not take the password of user "alice"`},
		},
		{
			name: "no such user", o: Options{URL: urlOf(server, "nobody", "secret", "", "")},
			want: []string{`does not take the password of user "nobody"`},
		},
		{
			name: "no such database", o: Options{URL: urlOf(server, "", "", "none", "")},
			want: []string{`CREATE DATABASE "none" OWNER "admin"`},
		},
		{
			name: "a user who may make nothing", o: Options{URL: urlOf(server, "bob", "secret", "", ""), Schema: "bobs"},
			want: []string{`CREATE SCHEMA "bobs" AUTHORIZATION "bob"`},
		},
		{
			name: "a user who may not use the tables", o: Options{URL: urlOf(server, "bob", "secret", "", "")},
			want: []string{`user "bob" may not make or use the tables`},
		},
		{
			name: "tables of a later version", o: Options{URL: server.URL(), Schema: "newer"}, is: ErrNewer,
			want: []string{"update this node"},
		},
		{
			name: "an encoding without most names", o: Options{URL: urlOf(server, "", "", "old", "")},
			want: []string{"encoding LATIN1", "UTF8"},
		},
		{
			name: "no connection left", o: Options{URL: urlOf(server, "few", "secret", "", "")},
			want: []string{"no connection left", "max_connections"},
		},
		{
			name: "no server", o: Options{URL: urlOf(server, "", "", "", freeAddr(t))},
			want: []string{"no connection", "is the server running", "connection refused"},
		},
		{
			name: "no such host", o: Options{URL: urlOf(server, "", "", "", "nowhere.invalid")},
			want: []string{"no connection"},
		},
		{
			name: "a server that says nothing", o: Options{URL: urlOf(server, "", "", "", silent.Addr().String()), Timeout: 50 * time.Millisecond},
			is: context.DeadlineExceeded, want: []string{"no answer in time"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := load(t, c.o)
			if c.want == nil {
				if err != nil || len(docs) != 0 {
					t.Fatalf("got %d documents and %v, want none and no error", len(docs), err)
				}
				return
			}
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			for _, secret := range []string{"secret", "wrong", pgtest.Password, url.QueryEscape(pgtest.Password)} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q shows the password", err)
				}
			}
		})
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// An old node that runs while a new one changes the tables hears of it, and stops.
func tablesBecomeNewer(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	defer func() { _ = s.Close() }()
	_, at, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(t.Context(), at, func(fleet.Doc) {}) }()
	server.Exec(t, `UPDATE x.about SET version = version + 1`)
	if err := <-watched; !errors.Is(err, ErrNewer) {
		t.Errorf("Watch: %v, want ErrNewer", err)
	}
	if _, _, err := s.Load(t.Context()); !errors.Is(err, ErrNewer) {
		t.Errorf("Load: %v, want ErrNewer", err)
	}
}

// One table that is gone cannot be made again, as the others may hold something.
func oneTableIsGone(t *testing.T, server *pgtest.Server) {
	s := open(t, server, "x")
	defer func() { _ = s.Close() }()
	if _, _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, `DROP TABLE x.documents`)
	if _, _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), `DROP SCHEMA "x" CASCADE`) {
		t.Errorf("Load without a table: %v", err)
	}
	server.Exec(t, `DROP SCHEMA x CASCADE`)
	if _, _, err := s.Load(t.Context()); err != nil {
		t.Errorf("Load after that was done: %v", err)
	}
	server.Exec(t, `TRUNCATE x.about, x.documents, x.rows, x.leases, x.roles`)
	if _, _, err := s.Load(t.Context()); err != nil {
		t.Errorf("Load after all tables were emptied: %v", err)
	}
}
