package suggest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"timeout", "timeout", 0},
		{"timout", "timeout", 1},
		{"tiemout", "timeout", 1}, // a swap is one slip of the fingers
		{"kitten", "sitting", 3},
		{"größe", "grösse", 2},
		{"ca", "abc", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"url", "name", "group", "timeout", "attempt_timeout", "breaker"}
	for _, c := range []struct{ word, want string }{
		{"timout", `did you mean "timeout"?`},
		{"attempt-timeout", `did you mean "attempt_timeout"?`},
		{"URL", `did you mean "url"?`},
		{strings.Repeat("url", 100), "known are attempt_timeout, breaker, group, name, timeout, url"},
		{"colour", "known are attempt_timeout, breaker, group, name, timeout, url"},
	} {
		if got := DidYouMean(c.word, slices.Values(known)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.word, got, c.want)
		}
	}
	for _, c := range []struct{ word, want string }{
		{"reach", `did you mean "reached"?`}, // the shortest that goes on so
		{"Op", `did you mean "open"?`},
		{"r", "known are open, reached, reached_late"},
		{"", "known are open, reached, reached_late"},
	} {
		if got := DidYouMean(c.word, slices.Values([]string{"reached_late", "reached", "open", "open"})); got != c.want {
			t.Errorf("%s: got %q, want %q", c.word, got, c.want)
		}
	}
	var many []string
	for i := range most + 2 {
		many = append(many, fmt.Sprintf("hotel-%02d", i))
	}
	if got := DidYouMean("x", slices.Values(many)); !strings.HasSuffix(got, "hotel-38, hotel-39 and 2 more") {
		t.Error(got)
	}
	if got := DidYouMean("x", slices.Values([]string{})); got != "there are none" {
		t.Errorf("nothing known: %q", got)
	}
}
