package admin

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

func key(name string) func(*http.Request) { return header(keyHeader, name) }

func TestSameKeyIsDoneOnce(t *testing.T) {
	w := newWhole(t)
	first := w.send("PUT", overrideOfHotel1, isolate, key("a"))
	if first.Code != http.StatusOK || first.Header().Get(replayedHeader) != "" {
		t.Fatalf("%d, %v", first.Code, first.Header())
	}
	version := w.breaker("hotel-1").Stats().Seq
	for range 3 {
		again := w.send("PUT", overrideOfHotel1, isolate, key("a"))
		if again.Code != first.Code || again.Body.String() != first.Body.String() ||
			again.Header().Get(replayedHeader) != "true" || again.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
			t.Errorf("%d %v\n%s\nwant\n%s", again.Code, again.Header(), again.Body, first.Body)
		}
	}
	if got := w.breaker("hotel-1").Stats().Seq; got != version {
		t.Errorf("version %d, want %d", got, version)
	}
	if acts := w.acts(); len(acts) != 1 || acts[0].Key != "a" {
		t.Errorf("audit %+v", acts)
	}
	w.send("PUT", overrideOfHotel1, isolate, key("b"))
	if n := len(w.acts()); n != 2 {
		t.Errorf("%d acts after another key, want 2", n)
	}
}

func TestSameKeyForAnotherRequest(t *testing.T) {
	w := newWhole(t)
	w.send("POST", resetOfHotel1, `{"reason":"x"}`, key("a"))
	for _, c := range []operationCall{
		{"POST", resetOfHotel1, `{"reason":"y"}`},
		{"POST", "/api/v1/dependencies/hotel-2/reset", `{"reason":"x"}`},
		{"PUT", overrideOfHotel1, isolate},
		{"DELETE", overrideOfHotel1 + "?reason=x", ""},
	} {
		w.wantProblem(http.StatusUnprocessableEntity, "used for another request", c.method, c.path, c.body, key("a"))
	}
	if n := len(w.acts()); n != 1 {
		t.Errorf("%d acts, want 1", n)
	}
}

// The same key of somebody else is another key: else one could read what others
// were answered.
func TestKeysOfOthers(t *testing.T) {
	w := newWhole(t, signIn)
	ines, kim := w.token("ines", auth.Operator, ""), w.token("kim", auth.Operator, "coast")
	w.send("PUT", overrideOfHotel1, isolate, key("a"), ines)
	if got := w.send("PUT", overrideOfHotel1, isolate, key("a"), kim); got.Code != http.StatusOK || got.Header().Get(replayedHeader) != "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	if n := len(w.acts()); n != 2 {
		t.Errorf("%d acts, want 2", n)
	}
}

// What was refused changed nothing, and may be tried again with the same key.
func TestRefusedMayBeTriedAgain(t *testing.T) {
	w := newWhole(t)
	const trial = "/api/v1/dependencies/hotel-1/trial"
	w.wantProblem(http.StatusConflict, "not open", "POST", trial, "{}", key("a"))
	w.trip("hotel-1")
	if got := w.send("POST", trial, "{}", key("a")); got.Code != http.StatusOK || got.Header().Get(replayedHeader) != "" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := w.send("POST", trial, "{}", key("a")); got.Code != http.StatusOK || got.Header().Get(replayedHeader) != "true" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestSameKeyAtOnce(t *testing.T) {
	w := newWhole(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	bodies := map[string]int{}
	for range 8 {
		wg.Go(func() {
			got := w.send("POST", "/api/v1/maintenance", `{"groups":["coast"],"to":"2100-01-01T00:00:00Z","reason":"x"}`, key("a"))
			mu.Lock()
			defer mu.Unlock()
			bodies[got.Body.String()]++
		})
	}
	wg.Wait()
	if len(bodies) != 1 || len(w.acts()) != 1 {
		t.Errorf("answers %v, %d acts; want one of each", bodies, len(w.acts()))
	}
}

// A restart does not forget.
func TestKeyOutlivesARestart(t *testing.T) {
	w := newWhole(t)
	first := w.send("POST", resetOfHotel1, "{}", key("a"))
	if err := w.options.History.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := openWhole(t, w.path)
	if got := again.send("POST", resetOfHotel1, "{}", key("a")); got.Header().Get(replayedHeader) != "true" || got.Body.String() != first.Body.String() {
		t.Errorf("%v %s", got.Header(), got.Body)
	}
}

// Killed after the act was written down and before its answer was.
func TestAnswerThatWasLost(t *testing.T) {
	w := newWhole(t)
	r, err := http.NewRequestWithContext(auth.With(t.Context(), auth.ByAddress("127.0.0.1")), "POST", resetOfHotel1, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := newOnce(r, "a", []byte("{}"))
	if err := w.options.History.Commit(t.Context(), history.Act{}, o.interrupted()); err != nil {
		t.Fatal(err)
	}
	f := w.wantProblem(http.StatusConflict, "was done", "POST", resetOfHotel1, "{}", key("a"))
	if f.Status == 0 || len(w.acts()) != 0 {
		t.Errorf("%+v, acts %+v", f, w.acts())
	}
}

// A token's secret is shown once: not in what is kept, and not again.
func TestReplayHasNoSecret(t *testing.T) {
	w := newWhole(t)
	const body = `{"name":"cms","role":"operator","for":"90d"}`
	var first, again Token
	w.want(http.StatusCreated, &first, "POST", tokensPath, body, key("a"))
	got := w.send("POST", tokensPath, body, key("a"))
	if err := json.Unmarshal(got.Body.Bytes(), &again); err != nil || got.Code != http.StatusCreated {
		t.Fatalf("%d, %v", got.Code, err)
	}
	if first.Secret == "" || again.Secret != "" || again.ID != first.ID {
		t.Errorf("%+v, then %+v", first, again)
	}
	if strings.Contains(w.log.String(), first.Secret) {
		t.Error("the log has the secret")
	}
}

func TestOddKeys(t *testing.T) {
	w := newWhole(t)
	for _, name := range []string{strings.Repeat("a", longestKey+1), "a\x7fb", "ä"} {
		w.wantProblem(http.StatusUnprocessableEntity, keyHeader, "POST", resetOfHotel1, "{}", key(name))
	}
	if got := w.send("POST", resetOfHotel1, "{}", key(strings.Repeat("a", longestKey))); got.Code != http.StatusOK {
		t.Errorf("the longest: %d", got.Code)
	}
	if got := w.send("POST", resetOfHotel1, `{"reason":"`+strings.Repeat("x", longestBody)+`"}`, key("b")); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", got.Code)
	}
	if got := w.send("GET", "/api/v1/dependencies", "", key("c")); got.Code != http.StatusOK {
		t.Errorf("of a GET: %d", got.Code)
	}
	w = newWhole(t, noHistory)
	if got := w.send("POST", resetOfHotel1, "{}", key("a")); got.Code != http.StatusOK {
		t.Errorf("without history: %d", got.Code)
	}
}
