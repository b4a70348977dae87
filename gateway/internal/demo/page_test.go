package demo

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// openedPage is a page that is served until the test ends.
func openedPage(t *testing.T, view func() view) *page {
	t.Helper()
	p, err := openPage()
	if err != nil {
		t.Fatal(err)
	}
	p.serve(view)
	t.Cleanup(p.close)
	return p
}

func getFrom(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// The page says everything without a script.
func TestPageWithoutScript(t *testing.T) {
	p := openedPage(t, duringOutage)
	_, body := getFrom(t, p.url())
	for _, want := range []string{
		"3 of 12 hotels are ill. With Recloser nobody waits. Without it 72 people wait, the longest for 7.2 s.",
		`<b data-waiting>0</b> waiting now`, `<b data-waiting>72</b> waiting now`, "nobody waits long", "people wait",
		"open: cut off, next trial in 0.8 s", "half-open: on trial by one guest", "its health check still says 200",
		`<a class="link" href="http://127.0.0.1:40123/d/hotel-3">hotel-3 is cut off</a>`, "Reason: 6 bad calls in a row",
		`<a href="http://127.0.0.1:40123/">The gateway’s panel</a>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(body, "<i></i>"); n != 72+1 { // and that of the sign of life
		t.Errorf("%d figures, want one for each of 72 people", n)
	}
	if strings.Contains(body, "style=") || strings.Contains(body, "onclick") {
		t.Error("the page has a style or a script in it, which its policy does not let work")
	}
}

func TestPageShowsTextsOfOthersAsText(t *testing.T) {
	v := duringOutage()
	v.told = []notice{{ID: "1", Kind: "started", Title: `<script>alert(1)</script>`, About: `"><script>`, Facts: []string{"<img src=x>"}}}
	_, body := getFrom(t, openedPage(t, func() view { return v }).url())
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") || strings.Contains(body, `"><script>`) {
		t.Error("text of a message became markup")
	}
}

func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	p := openedPage(t, duringOutage)
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                     {200, "text/html"},
		"/static/base.css":      {200, "text/css"},
		"/static/page.css":      {200, "text/css"},
		"/static/page.js":       {200, "text/javascript"},
		"/static/morph.js":      {200, "text/javascript"},
		"/static/icon.svg":      {200, "image/svg+xml"},
		"/static/missing.js":    {404, "text/plain"},
		"/static/..%2fpage.go":  {404, "text/plain"},
		"/static/vendor%2fu.js": {404, "text/plain"},
		"/elsewhere":            {404, "text/plain"},
	} {
		resp, _ := getFrom(t, p.url()+path)
		if resp.StatusCode != want.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), want.kind) {
			t.Errorf("%s: %d %s, want %d %s", path, resp.StatusCode, resp.Header.Get("Content-Type"), want.status, want.kind)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

// A name of another site that points to this machine reaches nothing.
func TestPageIsOfThisMachineOnly(t *testing.T) {
	p := openedPage(t, duringOutage)
	h := p.handler(duringOutage)
	for host, want := range map[string]int{
		"127.0.0.1:1": 200, "localhost:1": 200, "[::1]:1": 200, "evil.example:1": 403, "evil.example": 403, "10.0.0.7:1": 403, "": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
	}
	if !strings.HasPrefix(p.url(), "http://127.0.0.1:") {
		t.Errorf("it is at %s", p.url())
	}
}

// A stream brings views, and a bye when the demo ends.
func TestPageStream(t *testing.T) {
	p, err := openPage()
	if err != nil {
		t.Fatal(err)
	}
	p.serve(duringOutage)
	resp, err := http.Get(p.url() + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var events []string
	closed := make(chan struct{})
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		event, isEvent := strings.CutPrefix(lines.Text(), "event: ")
		if !isEvent {
			if lines.Text() != "" && !strings.HasPrefix(lines.Text(), "data: ") {
				t.Fatalf("in the stream: %q", lines.Text())
			}
			continue
		}
		events = append(events, event)
		if len(events) == 2 {
			go func() {
				defer close(closed)
				p.close()
			}()
		}
	}
	<-closed
	if n := len(events); n < 3 || events[n-1] != "bye" || slices.ContainsFunc(events[:n-1], func(e string) bool { return e != "view" }) {
		t.Errorf("events %q, want views and a bye", events)
	}
}
