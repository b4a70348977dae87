package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

// productService answers as the product service does, up or down.
type productService struct{ down bool }

func (p *productService) RoundTrip(*http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	if p.down {
		answer.WriteHeader(http.StatusInternalServerError)
	} else {
		_, _ = io.WriteString(answer, `[{"id":1,"product_name":"day ticket"}]`)
	}
	return answer.Result(), nil
}

// TestArticle has a guest ask once a second while the product service is down
// and comes back, on virtual time.
func TestArticle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaker, err := recloser.New(settings)
		if err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		products := &productService{down: true}
		s := &service{breaker, &http.Client{Transport: products}, "http://products/products", log.New(&lines, "", 0)}

		var codes []int
		for second := range 20 {
			products.down = second < 12
			w := httptest.NewRecorder()
			s.example(w, httptest.NewRequest(http.MethodGet, "/example", nil))
			codes = append(codes, w.Code)
			if after := w.Header().Get("Retry-After"); (w.Code == http.StatusServiceUnavailable) != (after != "") {
				t.Errorf("second %d: status %d with Retry-After %q", second, w.Code, after)
			}
			if w.Code == http.StatusOK && w.Body.String() != `[{"id":1,"product_name":"day ticket"}]` {
				t.Errorf("second %d: 200 with %q", second, w.Body)
			}
			<-time.After(time.Second)
		}

		var states []string
		for line := range strings.Lines(lines.String()) {
			if state, ok := strings.CutPrefix(strings.TrimSpace(line), "circuit breaker is "); ok {
				states = append(states, state)
			}
		}
		wantStates := slices.Concat(
			slices.Repeat([]string{"closed"}, 6), slices.Repeat([]string{"open"}, 4), // tripped at second 5, refused from 6 to 9
			[]string{"half-open"}, slices.Repeat([]string{"open"}, 4), // the trial at second 10 fails
			[]string{"half-open"}, slices.Repeat([]string{"closed"}, 4)) // the trial at second 15 is good
		if !slices.Equal(states, wantStates) {
			t.Errorf("states\n got %q\nwant %q", states, wantStates)
		}
		wantCodes := slices.Concat(
			slices.Repeat([]int{502}, 6), slices.Repeat([]int{503}, 4),
			[]int{502}, slices.Repeat([]int{503}, 4), slices.Repeat([]int{200}, 5))
		if !slices.Equal(codes, wantCodes) {
			t.Errorf("codes\n got %v\nwant %v", codes, wantCodes)
		}
	})
}
