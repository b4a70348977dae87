package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A channel that the file has now gets what comes, and what waited for it when its
// address was wrong; a file with a fault changes nothing.
func TestReloadTakesAlerts(t *testing.T) {
	var right atomic.Int64
	wrong := httptest.NewServer(http.NotFoundHandler())
	defer wrong.Close()
	mended := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { right.Add(1) }))
	defer mended.Close()
	with := func(channels string) string {
		return before + "storage: off\nalerts: { webhook: [" + channels + "] }\n"
	}
	at := func(name, url string) string { return fmt.Sprintf("{ name: %s, url: %q }", name, url) }

	next := with(at("ops", wrong.URL+"/s3cr3t-path"))
	g, log := reloading(t, func() (*config.Config, error) { return config.Parse("recloser.yaml", []byte(next)) })
	reload := func() error { return g.Reload(t.Context()) }
	if err := reload(); err != nil {
		t.Fatal(err)
	}
	a, _ := g.Dependencies().Get("a")
	if err := a.Breaker.TripFor(20*time.Minute, "ops", "why"); err != nil {
		t.Fatal(err)
	}
	fate := func(result string) func() bool {
		return func() bool {
			d := g.sender.now().Deliveries("ops", "", 1)
			return len(d) == 1 && string(d[0].Result) == result && d[0].Tries > 0
		}
	}
	eventually.True(t, patience, fate("waiting"), "the wrong address to be tried")

	next = with(at("ops", "nonsense"))
	if err := reload(); err == nil {
		t.Error("nonsense was taken")
	} else if _, ok := errors.AsType[config.Errors](err); !ok {
		t.Error(err)
	}
	if all := g.sender.now().Channels(); len(all) != 1 || all[0].URL.Reveal() != wrong.URL+"/s3cr3t-path" {
		t.Errorf("channels after a fault: %v", all)
	}
	next = with(at("ops", mended.URL))
	changes, err := g.reload(t.Context())
	if err != nil || len(changes.Restart) > 0 || len(changes.Changed) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
	eventually.True(t, patience, fate("accepted"), "what waited to go out")
	if right.Load() != 1 {
		t.Errorf("sent %d times", right.Load())
	}
	next = with("")
	if err := reload(); err != nil || len(g.sender.now().Channels()) > 0 {
		t.Errorf("%v, channels %v", err, g.sender.now().Channels())
	}
	if text := log.String(); strings.Contains(text, "s3cr3t") {
		t.Errorf("the log shows an address:\n%s", text)
	}
}
