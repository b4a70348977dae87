package pgstore

import (
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string // of the error; none: it is fine
	}{
		{"a server", Options{URL: "postgres://u:secret@h/db"}, nil},
		{"another scheme", Options{URL: "postgresql://u:secret@h:5433/db", Schema: "shop-2:a_B", Timeout: 10 * time.Millisecond}, nil},
		{"an escaped password", Options{URL: "postgres://u:s%40c%2Fr%23t@h/db?sslmode=require"}, nil},
		{"several servers", Options{URL: "postgres://u:secret@h1:5432,h2:5433/db?target_session_attrs=read-write"}, nil},
		{"a socket", Options{URL: "postgres:///db?host=/run/postgresql"}, nil},
		{"nothing", Options{}, []string{"no URL", "postgres://user:password@host:5432/database"}},
		{"no scheme", Options{URL: "localhost:5432"}, []string{"must begin with postgres://"}},
		{"words", Options{URL: "host=h password=secret"}, []string{"must begin with postgres://"}},
		{"another database", Options{URL: "mysql://u:secret@h/db"}, []string{"mysql://***@h/db", "must begin with postgres://"}},
		{"a port that is none", Options{URL: "postgres://u:secret@h:port/db"}, []string{"invalid port", "postgres://***@h:port"}},
		{"an sslmode that is none", Options{URL: "postgres://u:secret@h/db?sslmode=maybe"}, []string{"sslmode is invalid"}},
		{"a certificate that is not there", Options{URL: "postgres://u:secret@h/db?sslrootcert=/nowhere.pem"}, []string{"/nowhere.pem"}},
		{"a slash in a password", Options{URL: "postgres://u:sec/ret@h/db"}, []string{"%2F for /"}},
		{"a number and a slash in a password", Options{URL: "postgres://u:12/ret@h/db"}, []string{"%2F for /"}},
		{"an at in a password", Options{URL: "postgres://u:sec@ret@h/db"}, []string{"%40 for @"}},
		{"a percent in a password", Options{URL: "postgres://u:sec%ret@h/db"}, []string{"postgres://***@h/db", "invalid percent-encoded"}},
		{"a password among the parameters", Options{URL: "postgres://u@h/db?password=secret&sslmode=maybe"}, []string{"sslmode is invalid"}},
		{"a schema of the server", Options{URL: "postgres://h/db", Schema: "pg_mine"}, []string{`schema "pg_mine"`}},
		{"a schema with blanks", Options{URL: "postgres://h/db", Schema: "a b"}, []string{`schema "a b"`}},
		{"a long schema", Options{URL: "postgres://h/db", Schema: strings.Repeat("a", 61)}, []string{"1 to 60"}},
		{"all of it", Options{URL: "x", Schema: "ä", Timeout: time.Hour}, []string{"must begin", `schema "ä"`, "timeout 1h0m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			if err == nil {
				return
			}
			if _, openErr := Open(c.o); openErr == nil || openErr.Error() != err.Error() {
				t.Errorf("Open says %v, Validate %v", openErr, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			for _, secret := range []string{"secret", "sec", "ret"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q shows %q of the password", err, secret)
				}
			}
		})
	}
}

func TestWhatTheURLSaysOfThePoolHolds(t *testing.T) {
	config, err := Options{URL: "postgres://h/db"}.parse()
	if err != nil || config.MaxConns != maxConns || config.MaxConnIdleTime != maxIdleFor || config.ConnConfig.ConnectTimeout != connectingIn {
		t.Errorf("without parameters: %v, %d connections, idle for %s, connecting in %s", err, config.MaxConns, config.MaxConnIdleTime, config.ConnConfig.ConnectTimeout)
	}
	config, err = Options{URL: "postgres://h/db?pool_max_conns=7&pool_max_conn_idle_time=3s&connect_timeout=9&application_name=shop"}.parse()
	if err != nil || config.MaxConns != 7 || config.MaxConnIdleTime != 3*time.Second || config.ConnConfig.ConnectTimeout != 9*time.Second ||
		config.ConnConfig.RuntimeParams["application_name"] != "shop" {
		t.Errorf("with parameters: %v, %+v", err, config)
	}
}

func TestMask(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u:secret@h:1/db?password=x": "postgres://***@h:1/db",
		"postgres://u:sec@ret@h/db":             "postgres://***@h/db",
		"postgres://h/db":                       "postgres://h/db",
		"postgres://u:sec#ret":                  "postgres://***",
		"secret":                                "***",
		"":                                      "***",
	} {
		if got := Mask(raw); got != want {
			t.Errorf("Mask(%q) = %q, want %q", raw, got, want)
		}
	}
}

// FuzzPassword mistypes URLs in every way: no error may hold the password.
func FuzzPassword(f *testing.F) {
	for _, form := range []string{"postgres://u:%@h/db", "postgres://u:x@%@h", "postgres://u:%/x@h", "postgres://u:a?%@h:p/db", "u:%@h", "postgres://u:%#x@h:x", "postgres://:%@[::1/db?sslmode=x"} {
		before, after, _ := strings.Cut(form, "%")
		f.Add(before, after)
	}
	const secret = "Zq7Wx9Kv"
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) || !strings.Contains(before, ":") || !strings.Contains(after, "@") {
			return
		}
		if err := (Options{URL: before + secret + after}).Validate(); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q shows the password: %v", before+secret+after, err)
		}
	})
}
