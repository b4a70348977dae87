package forwarded

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// slowClient says when it is to be timed, and stops when it is.
type slowClient struct {
	http.ResponseWriter
	deadlines []bool // set, or taken away
}

func (c *slowClient) SetReadDeadline(t time.Time) error {
	c.deadlines = append(c.deadlines, !t.IsZero())
	return nil
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestUpload(t *testing.T) {
	tests := []struct {
		name           string
		body           io.Reader
		most           int64
		idle           time.Duration
		err            error
		ended, stalled bool
		deadlines      string
	}{
		{"whole", strings.NewReader("face"), 4, time.Second, nil, true, false, "++-"},
		{"not timed", strings.NewReader("face"), 0, 0, nil, true, false, ""},
		{"too long", strings.NewReader("faces"), 4, time.Second, new(http.MaxBytesError), false, false, "+-"},
		{"stops", io.MultiReader(strings.NewReader("fa"), stuck{}), 0, time.Second, os.ErrDeadlineExceeded, false, true, "++-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &slowClient{ResponseWriter: httptest.NewRecorder()}
			r := httptest.NewRequest(http.MethodPost, "/", struct{ io.Reader }{tt.body})
			u := Watch(w, r, tt.most, tt.idle)
			_, err := io.ReadAll(r.Body)
			if (err == nil) != (tt.err == nil) || tt.err != nil && err.Error() != tt.err.Error() {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if u.Ended() != tt.ended || u.Stalled() != tt.stalled {
				t.Errorf("ended: %t, stalled: %t", u.Ended(), u.Stalled())
			}
			got := ""
			for _, set := range w.deadlines {
				got += map[bool]string{true: "+", false: "-"}[set]
			}
			if got != tt.deadlines {
				t.Errorf("deadlines %q, want %q", got, tt.deadlines)
			}
		})
	}
}
