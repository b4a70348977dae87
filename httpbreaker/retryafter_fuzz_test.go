package httpbreaker_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recloser-go/recloser/httpbreaker"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"", 0, false},
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 7 ", 7 * time.Second, true},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1s", 0, false},
		{"soon", 0, false},
		{"Mon, 04 May 2026 12:00:30 GMT", 30 * time.Second, true},
		{"Monday, 04-May-26 12:00:30 GMT", 30 * time.Second, true},
		{"Mon May  4 12:00:30 2026", 30 * time.Second, true},
		{"Mon, 04 May 2026 11:59:59 GMT", 0, true},
		{"18446744073709551615", 9223372036 * time.Second, true},
		{"18446744073709551616", 9223372036 * time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			got, ok := httpbreaker.RetryAfter(http.Header{"Retry-After": {tt.value}}, now)
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %s, %t, want %s, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "120", "-1", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		got, ok := httpbreaker.RetryAfter(http.Header{"Retry-After": {value}}, time.Unix(unix, 0))
		if got < 0 || !ok && got != 0 {
			t.Errorf("%q: %s, %t", value, got, ok)
		}
	})
}
