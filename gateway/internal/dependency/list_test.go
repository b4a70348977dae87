package dependency

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func settings(id, group string) config.Dependency {
	return config.Dependency{
		ID: id, Group: group, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"},
		Timeout: 5 * time.Second, AttemptTimeout: 3 * time.Second,
	}
}

func ids(deps []*Dependency) string {
	var s []string
	for _, d := range deps {
		s = append(s, d.ID)
	}
	return strings.Join(s, " ")
}

func TestList(t *testing.T) {
	l, err := NewList([]config.Dependency{settings("c", "coast"), settings("a", ""), settings("b", "coast")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{ids(l.All()), "c a b"},
		{ids(l.Group("*")), "c a b"},
		{ids(l.Group("coast")), "c b"},
		{ids(l.Group("hills")), ""},
		{ids(l.Group("")), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	d, ok := l.Get("a")
	if !ok || d.ID != "a" || d.Breaker.Name() != "a" || d.Transport == nil {
		t.Errorf("Get: %+v %v", d, ok)
	}
	if d, ok := l.Get("x"); ok || d != nil {
		t.Errorf("Get of none: %+v %v", d, ok)
	}
}

func TestListReportsAll(t *testing.T) {
	bad := settings("bad", "")
	bad.Settings = recloser.Config{Trials: 1000}
	_, err := NewList([]config.Dependency{settings("a", ""), bad, settings("a", "")})
	if err == nil || !strings.Contains(err.Error(), "dependency bad: ") || !strings.Contains(err.Error(), "dependency a: defined twice") {
		t.Errorf("got %v", err)
	}
}
