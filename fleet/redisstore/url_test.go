package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet/redisstore"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		url   string
		addrs string
		want  func(o redisstore.Options) bool
	}{
		{"redis://h", "h:6379", func(o redisstore.Options) bool { return o.TLS == nil && o.DB == 0 && !o.Cluster && o.Prefix == "" }},
		{"redis://[::1]", "[::1]:6379", nil},
		{"redis://[::1]:7000/", "[::1]:7000", nil},
		{"rediss://h:7000/3", "h:7000", func(o redisstore.Options) bool { return o.TLS != nil && o.DB == 3 }},
		{"redis://u:p%40%2F%23%3F%25@h", "h:6379", func(o redisstore.Options) bool { return o.User == "u" && o.Password == "p@/#?%" }},
		{"redis://:p@h", "h:6379", func(o redisstore.Options) bool { return o.User == "" && o.Password == "p" }},
		{"redis://h?prefix=shop&timeout=500ms", "h:6379", func(o redisstore.Options) bool {
			return o.Prefix == "shop" && o.Timeout == 500*time.Millisecond
		}},
		{
			"redis://s1?master=main&addr=s2&addr=s3:7000&sentinel_user=su&sentinel_password=sp", "s1:26379 s2:26379 s3:7000",
			func(o redisstore.Options) bool {
				return o.Master == "main" && o.SentinelUser == "su" && o.SentinelPassword == "sp"
			},
		},
		{"redis://c1?cluster=true", "c1:6379", func(o redisstore.Options) bool { return o.Cluster }},
		{"redis://c1?addr=c2", "c1:6379 c2:6379", nil},
	} {
		o, err := redisstore.ParseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if got := strings.Join(o.Addrs, " "); got != c.addrs {
			t.Errorf("%s: addresses %s, want %s", c.url, got, c.addrs)
		}
		if c.want != nil && !c.want(o) {
			t.Errorf("%s: %+v", c.url, o)
		}
	}
}

// What cannot be right is refused with what is wrong, and without a password.
func TestParseURLRefuses(t *testing.T) {
	for _, c := range []struct{ url, says string }{
		{"", "cannot be read: write redis://host:6379/0"},
		{"localhost:6379", "cannot be read: write redis://"},
		{"redis:secret@h", "cannot be read: write redis://"},
		{"//secret//secret@h", "cannot be read"},
		{"redis://", "cannot be read: write redis://"},
		{"redis://:secret@", "cannot be read"},
		{"redis://u:se/cret@h", "%2F for /"},
		{"redis://u:12/cret@h", "%2F for /"},
		{"redis://u:12?secret@h", "%3F for ?"},
		{"redis://u:12#secret@h", "%23 for #"},
		{"redis://a@b:1/secret@h", "%40 stands for @"},
		{"redis://u:secret@h:port", "cannot be read"},
		{"http://u:secret@h", "http://***@h does not begin with redis:// or rediss://"},
		{"redis://u:secret@h/main", `redis://***@h/main has "/main" after its host, where the number of a database belongs`},
		{"redis://u:secret@h/-1", "database -1: it must be 0 or more (in the URL redis://***@h/-1)"},
		{"redis://u:secret@h?db=1", `has the parameter "db", and there are only addr, cluster`},
		{"redis://h?prefix=a&prefix=b", "says prefix 2 times"},
		{"redis://h?prefix=a;b", "has parameters that cannot be read"},
		{"redis://h?prefix={a}", `prefix "{a}": it must have 1 to 64 bytes, without { and }`},
		{"redis://h?timeout=1", "timeout=1: it must be a duration, as 500ms"},
		{"redis://h?timeout=1ms", "timeout 1ms: it must be 10ms to 10s"},
		{"redis://h?cluster=perhaps", "cluster=perhaps: it must be true or false"},
		{"redis://h?cluster=true&master=main", "a cluster has no Sentinel"},
		{"redis://h/1?cluster=true", "database 1 of a cluster: it has database 0 alone"},
		{"redis://h/1?addr=h2", "database 1 of a cluster"},
		{"redis://h?addr=:1", `address ":1" is not host:port`},
		{"redis://h:99999", `address "h:99999" is not host:port`},
		{"redis://secret@h", "a user without a password: write user:password@, or :password@ if that is the password"},
	} {
		_, err := redisstore.ParseURL(c.url)
		if err == nil {
			t.Errorf("%s is taken", c.url)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want it to say %q", c.url, err, c.says)
		}
		for _, part := range []string{"secret", "cret"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error shows the password: %v", c.url, err)
			}
		}
	}
}

// All that is wrong with options is said at once.
func TestOpenRefusesOptions(t *testing.T) {
	_, err := redisstore.Open(redisstore.Options{
		Addrs: []string{"h", "h:0"}, Master: "m", Cluster: true, DB: -1, User: "u", Prefix: strings.Repeat("p", 65), Timeout: -1,
	})
	if err == nil {
		t.Fatal("options that are all wrong are taken")
	}
	for _, says := range []string{`"h" is`, `"h:0" is`, "no Sentinel", "database -1", "without a password", "prefix", "timeout"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v\ndoes not say %q", err, says)
		}
	}
}
