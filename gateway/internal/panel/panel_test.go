package panel

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestOverview(t *testing.T) {
	h := many(t, false)
	page := h.get("/", http.StatusOK)
	for _, text := range []string{
		"<title>5 of 40 dependencies are cut off – Recloser</title>",
		`<h1>5 of 40 dependencies are cut off <span class="dim">1 of them by hand, 1 of them as planned, 1 on trial, 1 at risk, 1 passing by hand</span></h1>`,
		`<bdi>5 bad calls in a row (limit 5): dial tcp 10.3.0.8:443: connect: connection refused</bdi>`,
		"4 bad calls in a row (limit 5)",
		"of 2 trials good",
		"“<bdi>PMS upgrade on site, vendor asked us to stay away until it is over</bdi>” <span class=\"dim\">— <bdi>duty.manager</bdi></span>",
		"automatic would be closed: passing",
		"no end set",
		"<p>The others are tried again by themselves: there is nothing to press here. Tell the partners.</p>",
		"calls and about <b data-spared=\"wait\">",
		"Open: cut off <b>3</b>",
		"<b>half-open: on trial</b>",
		"last trial failed <time",
		"4 dependencies were cut off within 1 s",
		"<bdi>Coast</bdi> <span class=\"dim\">10</span>",
		`id="hotel-40"`, // messages link to rows by the ID
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %s", text)
		}
	}
	if n := strings.Count(page, "<article"); n != mostCards {
		t.Errorf("%d cards, want %d", n, mostCards)
	}
	if n := strings.Count(page, "<bdi>5 bad calls in a row (limit 5): "); n != 4 {
		t.Errorf("%d cards say what opened them, want 4: those of hotel-8, whose trial failed, and hotel-14, which is on trial, too", n)
	}
	for _, forbidden := range []string{" style=", "onclick", "javascript:", "NaN", "%!"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// A script that has the page asks for the rows that are not right any more.
func TestOverviewOfSomeRows(t *testing.T) {
	h := many(t, false)
	for query, want := range map[string]int{"": 40, "?row=": 0, "?row=&row=hotel-3&row=hotel-40": 2, "?row=nobody": 0} {
		page := h.get("/"+query, http.StatusOK)
		if got := strings.Count(page, `<td role="cell" class="cell-state">`); got != want {
			t.Errorf("%q: %d rows, want %d", query, got, want)
		}
		if got := strings.Count(page, " data-same></tr>"); got != 40-want {
			t.Errorf("%q: %d rows are only named, want the others", query, got)
		}
		if n := strings.Count(page, "<article"); n != mostCards || !strings.Contains(page, "5 of 40 dependencies are cut off") {
			t.Errorf("%q: %d cards, or no headline", query, n)
		}
	}
}

// G28: who looks sees that nothing is being written.
func TestStorageThatFailsIsShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const says = "History and acts are not being written:"
	h := openHouse(t, filepath.Join(file, "recloser.db"), false, hotels(t, 1)...)
	for _, path := range []string{"/", "/d/hotel-1", "/wall"} {
		if !strings.Contains(h.get(path, http.StatusOK), says) {
			t.Errorf("%s does not say so", path)
		}
	}
	if strings.Contains(newHouse(t, false, hotels(t, 1)...).get("/", http.StatusOK), says) {
		t.Error("with no fault the page says that there is one")
	}
}

// Whoever changed the file sees that it is not in force.
func TestConfigThatWasRefusedIsShown(t *testing.T) {
	h := newHouse(t, false, hotels(t, 1)...)
	const says = `<p class="banner">The config on disk was refused, and the one before is in force: recloser.yaml:14:12: unknown key &#34;x&#34;; and 1 more</p>`
	for fault, shown := range map[string]bool{"recloser.yaml:14:12: unknown key \"x\"\nrecloser.yaml:15:1: y": true, "": false} {
		h.reloads = admin.Reloads{Last: time.Now(), Fault: fault}
		for _, path := range []string{"/", "/alerts"} {
			if strings.Contains(h.get(path, http.StatusOK), says) != shown {
				t.Errorf("%s, fault %q: shown %t, want %t", path, fault, !shown, shown)
			}
		}
	}
}

// Too few calls are no number, and no green one.
func TestNotEnoughCalls(t *testing.T) {
	h := newHouse(t, false, hotels(t, 1)...)
	h.calls("hotel-1", 3, nil)
	if page := h.get("/", http.StatusOK); !strings.Contains(page, `title="not enough calls">–</b>`) {
		t.Errorf("three of ten calls are given a share:\n%s", page)
	}
}

// No row moves by itself, whatever happens.
func TestOrderIsFixed(t *testing.T) {
	h := newHouse(t, false, hotels(t, 8)...)
	order := func() []string {
		var ids []string
		for _, found := range regexp.MustCompile(`<tr role="row" class="[a-z-]+" id="([^"]+)"`).FindAllStringSubmatch(h.get("/", http.StatusOK), -1) {
			ids = append(ids, found[1])
		}
		return ids
	}
	before := fmt.Sprint(order())
	h.trip("hotel-7")
	if after := fmt.Sprint(order()); after != before || len(order()) != 8 {
		t.Errorf("rows were %s and are %s", before, after)
	}
}

// Whatever stands in a name, an error or a reason is text, stays in its place, and
// turns nothing around.
func TestHostileNames(t *testing.T) {
	const script = "<script>alert(1)</script>"
	const turns = "\u202e\u2066"
	long := strings.Repeat("long ", 40)
	all := hotels(t, 3)
	all[0].Name, all[1].Name, all[2].Name = script+turns, long, "🏨🏝️ مرحبا"
	all[0].Group = `"><img src=x onerror=alert(1)>`
	h := newHouse(t, false, all...)
	h.calls("hotel-1", 5, errors.New(script+turns+"\n"))
	if err := h.breaker("hotel-2").Isolate("in"+turns+"es", script, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/d/hotel-1", "/d/hotel-2", "/wall", "/timeline", "/maintenance", "/alerts", "/audit"} {
		page := h.get(path, http.StatusOK)
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") || strings.ContainsAny(page, turns) {
			t.Errorf("%s: text by others got through: %s", path, page)
		}
	}
	if page := h.get("/", http.StatusOK); !strings.Contains(page, "🏨") || !strings.Contains(page, strings.TrimSpace(long)) {
		t.Error("a name was lost")
	}
}

// Without scripts, too, nobody takes a moment of yesterday for one of today.
func TestClock(t *testing.T) {
	now := time.Date(2027, time.January, 31, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		at   time.Duration
		want string
	}{
		{0, "08:00:00 UTC"},
		{-7 * time.Hour, "01:00:00 UTC"},
		{15 * time.Hour, "23:00:00 UTC"},
		{-9 * time.Hour, "2027-01-30 23:00 UTC"},
		{16 * time.Hour, "2027-02-01 00:00 UTC"},
		{-24 * time.Hour, "2027-01-30 08:00 UTC"},
		{-365 * 24 * time.Hour, "2026-01-31 08:00 UTC"},
	} {
		if got := clock(now.Add(tt.at).In(time.FixedZone("east", 9*3600)), now); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.at, got, tt.want)
		}
	}
	h := newHouse(t, false, hotels(t, 1)...)
	h.record("hotel-1", -26*time.Hour, closed, open, "5 bad calls in a row")
	h.record("hotel-1", -25*time.Hour, open, closed, "")
	yesterday := time.Now().Add(-26 * time.Hour).UTC().Format("2006-01-02 15:04 UTC")
	if page := h.get("/timeline?back=7d", http.StatusOK); !strings.Contains(page, ">"+yesterday+"</time>") {
		t.Errorf("the timeline does not say %s: %s", yesterday, page)
	}
}

func TestUnknownDependency(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	if page := h.get("/d/hotel-9", http.StatusNotFound); !strings.Contains(page, "no dependency &#34;hotel-9&#34;") {
		t.Errorf("page: %s", page)
	}
}

// IDs are anchors of rows; those of the page itself never are the same.
func TestAnchorsAreUnique(t *testing.T) {
	var all []config.Dependency
	for _, id := range []string{"closed", "open", "main", "list", "panel", "mark"} {
		all = append(all, config.Dependency{ID: id, Name: id})
	}
	h := newHouse(t, false, all...)
	seen := make(map[string]bool)
	page := h.get("/", http.StatusOK)
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[id[1]] {
			t.Errorf("two elements have the id %s", id[1])
		}
		seen[id[1]] = true
	}
	for _, use := range regexp.MustCompile(`(?:href="|url\()#([^")]*)`).FindAllStringSubmatch(page, -1) {
		if !seen[use[1]] {
			t.Errorf("something points at %s, which is not there", use[1])
		}
	}
}

// What a browser loads for the page of 40 dependencies, all of it, compressed.
func TestBudget(t *testing.T) {
	h := many(t, false)
	page := h.get("/", http.StatusOK)
	sum := gzipped(t, page)
	t.Logf("page: %d bytes", sum)
	loaded := map[string]bool{}
	var load func(text string)
	load = func(text string) {
		for _, found := range regexp.MustCompile(`["'](/static/[^"']+)["']`).FindAllStringSubmatch(text, -1) {
			if loaded[found[1]] {
				continue
			}
			loaded[found[1]] = true
			body := h.get(found[1], http.StatusOK)
			t.Logf("%s: %d bytes", found[1], gzipped(t, body))
			sum += gzipped(t, body)
			if strings.HasSuffix(found[1], ".js") {
				load(body)
			}
		}
	}
	load(page)
	const budget = 40_000
	if t.Logf("all: %d bytes", sum); sum > budget || len(loaded) < 5 {
		t.Errorf("%d bytes in %d files, want at most %d", sum, len(loaded), budget)
	}
}

func gzipped(t *testing.T, text string) int {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// Pages may load what is the gateway's own, and nothing that stands in them runs.
func TestContentPolicy(t *testing.T) {
	h := newHouse(t, false, hotels(t, 2)...)
	for _, path := range []string{"/", "/d/hotel-1", "/wall", "/timeline", "/maintenance", "/alerts", "/audit", "/nodes", "/sign-in"} {
		resp, err := h.server.Client().Get(h.server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy %q", path, policy)
		}
	}
}

// What others wrote is as they published it, and named with version and licence.
func TestVendoredFiles(t *testing.T) {
	table, err := os.ReadFile("static/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for folder, skip := range map[string]string{"static/vendor": "README.md", "testdata/vendor": ""} {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || name == skip {
				return err
			}
			body, err := os.ReadFile(folder + "/" + name)
			if err != nil {
				return err
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(body)); !regexp.MustCompile(`(?m)^\| ` + "`" + regexp.QuoteMeta(name) + "`" + ` \| .+ \| .+ \| .*` + sum).Match(table) {
				t.Errorf("static/vendor/README.md has no line for %s/%s with its sha256 %s", folder, name, sum)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTimelineCSV(t *testing.T) {
	all := hotels(t, 2)
	all[0].Name = "=1+1"
	h := newHouse(t, false, all...)
	h.record("hotel-1", -50*time.Minute, closed, open, "5 bad calls in a row")
	h.record("hotel-1", -40*time.Minute, open, halfOpen, "")
	h.record("hotel-1", -39*time.Minute, halfOpen, closed, "")
	rows, err := csv.NewReader(strings.NewReader(h.get("/timeline.csv", http.StatusOK))).ReadAll()
	if err != nil || len(rows) < 3 {
		t.Fatal(rows, err)
	}
	var cutOff, trips string
	for _, row := range rows[1:] {
		if row[0] == "hotel-1" && row[6] != "0.0" {
			cutOff, trips = row[6], row[8]
			if row[1] != "'=1+1" {
				t.Errorf("a spreadsheet takes the name %q for a formula", row[1])
			}
		}
	}
	if at := slices.Index(rows[0], "max_open_for_seconds"); at < 0 || rows[1][at] != "600.0" || rows[1][at-1] != "300.0" {
		t.Errorf("no open times beside them: %v", rows)
	}
	if cutOff != "660.0" || trips != "1" {
		t.Errorf("cut off for %s s in %s trips, want 660 in 1: %v", cutOff, trips, rows)
	}
}

// Whoever signs in goes on inside, wherever a link wanted to send him.
func TestInside(t *testing.T) {
	for next, want := range map[string]string{
		"/d/hotel-1?x=1": "/d/hotel-1?x=1", "": "/", "https://evil.example/": "/", "//evil.example": "/", "/\\evil.example": "/",
		"/\tx": "/", "javascript:alert(1)": "/", "/sign-in": "/", "d": "/",
	} {
		if got := inside(next); got != want {
			t.Errorf("inside(%q) = %q, want %q", next, got, want)
		}
	}
}

// A link in a message brings no cookie with it, so the page asks again by itself; a
// stranger is asked to sign in.
func TestStranger(t *testing.T) {
	h := newHouse(t, true, hotels(t, 1)...)
	html := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
	if page := h.get("/d/hotel-1", http.StatusOK, html); !strings.Contains(page, `name="next" value="/d/hotel-1"`) {
		t.Errorf("a stranger sees %s", page)
	}
	if page := h.get("/d/hotel-1", http.StatusOK, html, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); !strings.Contains(page, `content="0; url=/d/hotel-1"`) {
		t.Errorf("who comes by a link sees %s", page)
	}
}

// A sign-in from a page of another site is refused, and so is a form to anywhere else.
func TestFormsOfOthers(t *testing.T) {
	h := newHouse(t, true, hotels(t, 1)...)
	for _, tt := range []struct {
		path, site string
		want       int
	}{
		{"/sign-in", "cross-site", http.StatusForbidden},
		{"/sign-in", "", http.StatusUnsupportedMediaType},
		{"/sign-in", "same-origin", http.StatusUnauthorized},
		{"/api/v1/dependencies/hotel-1/reset", "same-origin", http.StatusUnsupportedMediaType},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+tt.path, strings.NewReader("token=x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if tt.site != "" {
			r.Header.Set("Sec-Fetch-Site", tt.site)
		}
		resp, err := h.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s from %q: %d, want %d", tt.path, tt.site, resp.StatusCode, tt.want)
		}
	}
}
