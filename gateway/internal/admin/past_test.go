package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// noon is when the events of these tests begin, one a minute.
var noon = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)

func (w *whole) recordMany(n int) {
	for i := range n {
		id := "hotel-1"
		if i%2 == 1 {
			id = "hotel-3"
		}
		kind := history.KindTransition
		if i%5 == 0 {
			kind = history.KindProbe
		}
		w.options.History.Record(history.Event{
			At: noon.Add(time.Duration(i) * time.Minute), Dependency: id, Kind: kind, OpenFor: 5 * time.Second, Text: fmt.Sprintf("event %d", i),
		})
	}
}

func TestEvents(t *testing.T) {
	w := newWhole(t)
	w.recordMany(20)
	get := func(query string) (list EventList) {
		t.Helper()
		w.want(http.StatusOK, &list, "GET", "/api/v1/events"+query, "")
		return list
	}
	all := get("")
	if len(all.Events) != 20 || all.Next != 0 || all.Events[0].Text != "event 19" || all.Events[0].OpenForMS != 5000 || !all.Events[0].At.Equal(noon.Add(19*time.Minute)) {
		t.Errorf("%d events, next %d, first %+v", len(all.Events), all.Next, all.Events[0])
	}
	at := func(minute int) string {
		return url.QueryEscape(noon.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339))
	}
	for query, want := range map[string]int{
		"?dependency=hotel-1":                       10,
		"?kind=probe":                               4,
		"?kind=probe&dependency=hotel-1":            2,
		"?dependency=hotel-7":                       0,
		"?since=" + at(15):                          5,
		"?until=" + at(15):                          15,
		"?since=" + at(3) + "&until=" + at(5):       2,
		"?limit=7":                                  7,
		fmt.Sprintf("?after=%d", all.Events[3].ID):  3,
		fmt.Sprintf("?before=%d", all.Events[3].ID): 16,
	} {
		if got := len(get(query).Events); got != want {
			t.Errorf("%s: %d events, want %d", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=1001", "?kind=x", "?since=yesterday", "?after=-1", "?colour=red"} {
		w.want(http.StatusUnprocessableEntity, new(failure), "GET", "/api/v1/events"+query, "")
	}
	w = newWhole(t, noHistory)
	w.wantProblem(http.StatusNotImplemented, "no history", "GET", "/api/v1/events", "")
	w.wantProblem(http.StatusNotImplemented, "no history", "GET", "/api/v1/audit", "")
	w.wantProblem(http.StatusNotImplemented, "no history", "GET", "/api/v1/stream", "")
}

// Page after page, in both directions, nothing is missing or comes twice; also for
// one who sees only every second.
func TestPages(t *testing.T) {
	w := newWhole(t)
	w.recordMany(50)
	for _, who := range []struct {
		name string
		as   func(*http.Request)
		want int
	}{
		{"all", func(*http.Request) {}, 50},
		{"a group", w.token("coast", auth.Viewer, "coast"), 25},
	} {
		for _, direction := range []string{"before", "after"} {
			seen := map[int64]bool{}
			next := int64(1 << 62)
			if direction == "after" {
				next = 1
			}
			var last int64
			for page := 0; next != 0 && page < 100; page++ {
				var list EventList
				w.want(http.StatusOK, &list, "GET", fmt.Sprintf("/api/v1/events?limit=7&%s=%d", direction, next), "", who.as)
				if len(list.Events) > 7 {
					t.Errorf("%d events, want at most 7", len(list.Events))
				}
				for _, e := range list.Events {
					if seen[e.ID] || last != 0 && (e.ID < last) != (direction == "before") {
						t.Errorf("%s, %s: %d after %d", who.name, direction, e.ID, last)
					}
					seen[e.ID], last = true, e.ID
				}
				next = list.Next
			}
			if len(seen) != who.want {
				t.Errorf("%s, %s: %d events, want %d", who.name, direction, len(seen), who.want)
			}
		}
	}
}

// He who sees one group only gets an answer, and can go on, however much there is
// that he does not see.
func TestFewAmongMany(t *testing.T) {
	read := 0
	in := Page{Limit: 10}
	all, next, err := paged(in, func(p Page) ([]int64, error) {
		read += p.Limit
		batch := make([]int64, p.Limit)
		for i := range batch {
			if batch[i] = p.Before - int64(i) - 1; p.Before == 0 {
				batch[i] = 1_000_000 - int64(i)
			}
		}
		return batch, nil
	}, func(n int64) int64 { return n }, func(int64) bool { return false })
	if err != nil || len(all) != 0 || next == 0 || read > 10_000 {
		t.Errorf("%d, next %d, %v; read %d", len(all), next, err, read)
	}
}

func TestAudit(t *testing.T) {
	w := newWhole(t)
	w.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, `{"mode":"isolated","for":"1h","reason":"their database moves","by":"ines"}`)
	w.want(http.StatusOK, new(Dependency), "POST", "/api/v1/dependencies/hotel-2/reset", `{"by":"kim"}`)
	w.want(http.StatusOK, new(Dependency), "DELETE", overrideOfHotel1+"?reason=done&by=kim", "")
	get := func(query string) (list ActList) {
		t.Helper()
		w.want(http.StatusOK, &list, "GET", "/api/v1/audit"+query, "")
		return list
	}
	all := get("").Acts
	if len(all) != 3 || all[0].Name != "release" || all[1].Target != "hotel-2" {
		t.Fatalf("%+v", all)
	}
	a := all[2]
	if a.Name != "override isolated" || a.Target != "hotel-1" || a.By != "ines" || a.Role != "admin" || a.From != "127.0.0.1" ||
		a.Reason != "their database moves" || a.Result != "done" || a.Until == nil || a.Until.Sub(a.At).Round(time.Second) != time.Hour {
		t.Errorf("%+v", a)
	}
	for query, want := range map[string]int{"?target=hotel-1": 2, "?by=kim": 2, "?by=kim&target=hotel-1": 1, "?name=reset": 1, "?limit=1": 1} {
		if got := len(get(query).Acts); got != want {
			t.Errorf("%s: %d acts, want %d", query, got, want)
		}
	}
	// Reading leaves no trace, and neither does what was refused.
	w.send("PUT", overrideOfHotel1, `{"mode":"isolated"}`)
	w.send("POST", "/api/v1/dependencies/hotel-1/trial", "{}")
	if n := len(get("").Acts); n != 3 {
		t.Errorf("%d acts", n)
	}
}

func TestSeriesOfADependency(t *testing.T) {
	w := newWhole(t)
	now := time.Now().Truncate(10 * time.Second)
	s := w.options.Series
	s.Sample(t.Context(), now.Add(-40*time.Second))
	w.calls("hotel-1", 5, nil)
	s.Sample(t.Context(), now.Add(-39*time.Second))
	w.calls("hotel-1", 2, errDown)
	s.Sample(t.Context(), now.Add(-30*time.Second))
	s.Sample(t.Context(), now.Add(-20*time.Second))
	get := func(query string) (list PointList) {
		t.Helper()
		w.want(http.StatusOK, &list, "GET", "/api/v1/dependencies/hotel-1/series"+query, "")
		return list
	}
	fine := get("")
	if fine.StepMS != 1000 || fine.Dependency != "hotel-1" || len(fine.Points) != 3 {
		t.Fatalf("%+v", fine)
	}
	if p := fine.Points[0]; !p.At.Equal(now.Add(-40*time.Second)) || p.Good != 5 || p.P95MS <= 0 || p.State != "closed" {
		t.Errorf("%+v", p)
	}
	coarse := get("?step=10s")
	if coarse.StepMS != 10_000 || len(coarse.Points) != 2 || coarse.Points[0].Good != 5 || coarse.Points[0].Failed != 2 {
		t.Errorf("%+v", coarse)
	}
	long := url.QueryEscape(now.Add(-30 * 24 * time.Hour).Format(time.RFC3339))
	if got := get("?from=" + long); got.StepMS != 600_000 {
		t.Errorf("of a month: a step of %d ms", got.StepMS)
	}
	for _, query := range []string{"?step=5s", "?step=1s&from=" + long, "?from=2100-01-01T00:00:00Z", "?to=" + long + "&from=" + long} {
		w.want(http.StatusUnprocessableEntity, new(failure), "GET", "/api/v1/dependencies/hotel-1/series"+query, "")
	}
	w.wantProblem(http.StatusNotFound, "no dependency", "GET", "/api/v1/dependencies/hotel-7/series", "")
}

func TestSelectorsOfTheList(t *testing.T) {
	w := newWhole(t)
	w.trip("hotel-3")
	for query, want := range map[string]int{
		"":                                  4,
		"?group=coast":                      2,
		"?group=nowhere":                    0,
		"?label=region%3Dnorth":             2,
		"?label=region%3Dnorth&group=coast": 1,
		"?label=region%3Dnorth&label=x%3Dy": 0,
		"?state=open":                       1,
		"?state=closed&group=hills":         0,
		"?state=maintenance":                0,
	} {
		var list DependencyList
		w.want(http.StatusOK, &list, "GET", dependenciesPath+query, "")
		if len(list.Dependencies) != want {
			t.Errorf("%s: %d, want %d", query, len(list.Dependencies), want)
		}
	}
	for _, query := range []string{"?state=broken", "?label=region", "?label=%3Dx", "?labl=x"} {
		w.want(http.StatusUnprocessableEntity, new(failure), "GET", dependenciesPath+query, "")
	}
}

// G23: however many are cut off, the gateway itself is healthy and ready, and the
// list shows it.
func TestAllCutOffIsHealthy(t *testing.T) {
	w := newWhole(t)
	for _, d := range w.list.All() {
		if err := d.Breaker.TripFor(time.Hour, "test", "x"); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := w.send("GET", path, ""); got.Code != http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	var list DependencyList
	w.want(http.StatusOK, &list, "GET", dependenciesPath+"?state="+recloser.Open.String(), "")
	if len(list.Dependencies) != 4 {
		t.Errorf("%d are shown as open, want 4", len(list.Dependencies))
	}
}
