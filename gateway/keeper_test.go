package gateway

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// When a token was used last is written down while the gateway runs, by nobody's request,
// and when it stops.
func TestUseOfTokensIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recloser.db")
	g, _ := newGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0", sign_in: true }
storage: %q
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`, path))
	secret, token := auth.Create("cms", auth.Viewer, "", time.Time{})
	if err := g.history.Commit(t.Context(), history.Act{}, history.PutToken(token)); err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	use := func() {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.AdminAddr()+"/api/v1/dependencies", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
			t.Fatalf("%v, %v", resp, err)
		}
	}
	kept := func() time.Time { // by the file alone, as after a kill
		t.Helper()
		h := history.Open(history.Options{Path: path, Beside: true})
		defer h.Close(t.Context())
		used, err := h.TokensUsed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return used[token.ID]
	}
	use()
	if at := kept(); !at.IsZero() {
		t.Errorf("the request has written: %s", at)
	}
	g.keeper.saveTokens(false)
	first := kept()
	if time.Since(first) > patience {
		t.Errorf("while it runs it keeps %s", first)
	}
	<-time.After(time.Until(first.Add(time.Second))) // it is by the second
	use()
	stop(t, g)
	if last := kept(); !last.After(first) {
		t.Errorf("when it stops it keeps %s, want later than %s", last, first)
	}
}
