package forwarded

import (
	"errors"
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

// A transport that is in the middle of a Read when the handler returns must not
// touch the ResponseWriter after that: that of HTTP/2 would panic.
func TestUploadThatOutlivesItsHandler(t *testing.T) {
	w := &slowClient{ResponseWriter: httptest.NewRecorder()}
	in, client := io.Pipe()
	r := httptest.NewRequest(http.MethodPost, "/", in)
	u := Watch(w, r, 1<<10, time.Second)
	reading, done := make(chan struct{}), make(chan error)
	go func() {
		p := make([]byte, 4)
		_, err := u.Read(p)
		close(reading)
		for err == nil {
			_, err = u.Read(p)
		}
		done <- err
	}()
	_, _ = client.Write([]byte("face"))
	<-reading
	u.Leave()
	before := len(w.deadlines)
	_ = client.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the read ended with %v", err)
	}
	if len(w.deadlines) > before {
		t.Errorf("the ResponseWriter was used %d times after its handler", len(w.deadlines)-before)
	}
}
