package dependency

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	l, err := Maker{}.NewList([]config.Dependency{settings("c", "coast"), settings("a", ""), settings("b", "coast")})
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
	_, err := Maker{}.NewList([]config.Dependency{settings("a", ""), bad, settings("a", "")})
	if err == nil || !strings.Contains(err.Error(), "dependency bad: ") || !strings.Contains(err.Error(), "dependency a: defined twice") {
		t.Errorf("got %v", err)
	}
}

// A reload keeps what breakers know, and changes nothing if anything is wrong.
func TestApplyKeepsBreakersOrChangesNothing(t *testing.T) {
	l, err := Maker{}.NewList([]config.Dependency{settings("a", "coast"), settings("b", "")})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := l.Get("a")
	if err := a.Breaker.Isolate("ops", "broken", time.Time{}); err != nil {
		t.Fatal(err)
	}
	bad := settings("c", "")
	bad.Settings = recloser.Config{Trials: 1000}
	moved := settings("a", "hills")
	if err := l.Apply([]config.Dependency{moved, bad}); err == nil {
		t.Fatal("a config that cannot be was put in force")
	}
	if ids(l.All()) != "a b" || ids(l.Group("coast")) != "a" {
		t.Errorf("half of it is in force: %s, coast: %s", ids(l.All()), ids(l.Group("coast")))
	}
	moved.Settings.Trials = 7
	if err := l.Apply([]config.Dependency{settings("c", ""), moved}); err != nil {
		t.Fatal(err)
	}
	now, _ := l.Get("a")
	switch {
	case ids(l.All()) != "c a":
		t.Errorf("there are %s, want c a", ids(l.All()))
	case now.Breaker != a.Breaker || now.Breaker.State() != recloser.Isolated:
		t.Error("the reload lost what the breaker knew")
	case now.Breaker.Config().Trials != 7:
		t.Errorf("trials: %d, want the new 7", now.Breaker.Config().Trials)
	case now.Version != a.Version+1 || a.Group != "coast":
		t.Errorf("version %d after %d; the old definition has group %q", now.Version, a.Version, a.Group)
	case now.Transport != a.Transport:
		t.Error("the reload closed connections for nothing")
	}
}

func TestRunTime(t *testing.T) {
	l, err := Maker{}.NewList([]config.Dependency{settings("a", "")})
	if err != nil {
		t.Fatal(err)
	}
	var lists []string
	look := func() { lists = append(lists, ids(l.All())) }
	if _, err := l.Put(settings("a", "")); !errors.Is(err, ErrOfFile) {
		t.Errorf("Put over the file's: %v", err)
	}
	if err := l.Remove("a"); !errors.Is(err, ErrOfFile) {
		t.Errorf("Remove of the file's: %v", err)
	}
	if err := l.Remove("x"); !errors.Is(err, ErrNone) {
		t.Errorf("Remove of none: %v", err)
	}
	x, err := l.Put(settings("x", "coast"))
	if err != nil || !x.RunTime || x.Version != 1 {
		t.Fatalf("Put: %+v, %v", x, err)
	}
	look()
	again, err := l.Put(settings("x", "hills"))
	if err != nil || again.Breaker != x.Breaker || again.Version != 2 || ids(l.Group("coast")) != "" {
		t.Errorf("second Put: %+v, %v", again, err)
	}
	look()
	// The file may take it over, with what its breaker knows; one that is only the API's stays.
	if _, err := l.Put(settings("y", "")); err != nil {
		t.Fatal(err)
	}
	look()
	if err := l.Apply([]config.Dependency{settings("x", ""), settings("a", "")}); err != nil {
		t.Fatal(err)
	}
	look()
	x, _ = l.Get("x")
	if ids(l.All()) != "x a y" || x.RunTime || x.Breaker != again.Breaker {
		t.Errorf("after the reload: %s, x of the API: %v", ids(l.All()), x.RunTime)
	}
	if err := l.Remove("y"); err != nil {
		t.Error(err)
	}
	look()
	if got, want := strings.Join(lists, ", "), "a x, a x, a x y, x a y, x a"; got != want {
		t.Errorf("the lists were %q, want %q", got, want)
	}
}

// G25: as many keys as there are callers do not grow the memory; the breakers that
// matter stay.
func TestKeys(t *testing.T) {
	of := settings("a", "")
	of.Key = &config.Key{Header: "X-Property", Max: 100}
	type heard struct{ id, key string }
	told := make(chan heard, 1)
	l, err := Maker{Listeners: []func(string, string, recloser.Transition){
		func(id, key string, _ recloser.Transition) { told <- heard{id, key} },
	}}.NewList([]config.Dependency{of})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := l.Get("a")
	call := func(key string) *recloser.Breaker {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Property", key)
		return a.BreakerOf(r)
	}
	if call("") != a.Breaker || call("one") == a.Breaker || call("one") == call("two") {
		t.Fatal("calls are not split by key")
	}
	if err := call("one").Isolate("ops", "why", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != (heard{"a", "one"}) {
		t.Errorf("a listener heard of %+v", got)
	}
	for i := range 10_000 {
		call(fmt.Sprint(i))
	}
	if n := a.Keys.Len(); n > 101 { // and the one that is shared
		t.Errorf("%d breakers are kept, of 100", n)
	}
	if call("one").State() != recloser.Isolated {
		t.Error("the isolated one was dropped")
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Property", "one")
	if a.GuardOf(r).Breaker() != call("one") {
		t.Error("the guard has another breaker in its middle")
	}
}

// What an operator sets for a dependency holds for every key of it.
func TestOperatorsActHoldsForKeys(t *testing.T) {
	of := settings("a", "")
	of.Key = &config.Key{Header: "X-Property", Max: 100}
	l, err := Maker{}.NewList([]config.Dependency{of})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := l.Get("a")
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("X-Property", "one")
	own := a.BreakerOf(r)
	for _, set := range []func(by, why string, until time.Time) error{a.Breaker.Isolate, a.Breaker.HoldClosed} {
		if err := set("ops", "why", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if a.BreakerOf(r) != a.Breaker || a.KeyHeader(r) != "" {
			t.Errorf("%s does not hold for a key", a.Breaker.State())
		}
	}
	a.Breaker.Release("ops", "")
	if a.BreakerOf(r) != own || own == a.Breaker {
		t.Error("after the release the key has not its own breaker")
	}
}

// A name may point to another address when it is called than when it was added.
func TestRunTimeDependencyIsNotConnectedToTheMachinesOwnServices(t *testing.T) {
	of := settings("x", "")
	of.URL = &url.URL{Scheme: "http", Host: "169.254.169.254"}
	l, err := Maker{MayTarget: config.Admin{}.MayTarget}.NewList(nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := l.Put(of)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, of.URL.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := x.Transport.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if refused := (*TargetError)(nil); !errors.As(err, &refused) {
		t.Errorf("got %v, want the refusal of the address", err)
	}
}

// Where a proxy leads a name to cannot be seen: one that was added at run time takes none,
// until it is the file's.
func TestRunTimeDependencyTakesNoProxy(t *testing.T) {
	l, err := Maker{MayTarget: config.Admin{}.MayTarget}.NewList([]config.Dependency{settings("a", "")})
	if err != nil {
		t.Fatal(err)
	}
	takesOne := func(id string) bool {
		d, _ := l.Get(id)
		return d.Transport.(*http.Transport).Proxy != nil
	}
	if _, err := l.Put(settings("x", "")); err != nil {
		t.Fatal(err)
	}
	if !takesOne("a") || takesOne("x") {
		t.Errorf("the file's takes the environment's proxy: %v; that of run time: %v", takesOne("a"), takesOne("x"))
	}
	if err := l.Apply([]config.Dependency{settings("a", ""), settings("x", "")}); err != nil {
		t.Fatal(err)
	}
	if !takesOne("x") {
		t.Error("taken over by the file it still takes no proxy")
	}
}

func TestHTTPVersions(t *testing.T) {
	versions := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
	both := httptest.NewUnstartedServer(versions)
	both.Config.Protocols = new(http.Protocols)
	both.Config.Protocols.SetHTTP1(true)
	both.Config.Protocols.SetUnencryptedHTTP2(true)
	both.Start()
	defer both.Close()
	for version, want := range map[config.HTTP]string{config.Auto: "HTTP/1.1", config.HTTP1: "HTTP/1.1", config.H2C: "HTTP/2.0"} {
		of := settings("a", "")
		of.URL, _ = url.Parse(both.URL)
		of.HTTP = version
		l, err := Maker{}.NewList([]config.Dependency{of})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := l.Get("a")
		resp, err := (&http.Client{Transport: a.Transport}).Get(both.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s: the dependency saw %s, %v; want %s", version, got, err, want)
		}
		l.CloseIdle()
	}
}
