package scenario

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// Whatever a file holds, it is read or its faults have a place in it; and if it
// can be run, it comes to an end, and an update leaves it one that can be read.
func FuzzParse(f *testing.F) {
	for _, content := range golden(f) {
		f.Add([]byte(content))
	}
	f.Add([]byte("settings retry=3 timeout=1s\n0s every 1us: call -> 1% panic, 99% goexit; upload 1s then ok in 1s then 1s\n1ms expect window bad=?"))
	f.Add([]byte("0s 1000000 times: 1000000 times: 1000000 at once: call deaf once giving up after 1ns with deadline 1ns -> cancel\n1h expect open times ? 5s ..."))
	f.Add([]byte("\ufeff+0s wall clock -1ns # \"\n \"\n +1s\n 0s\r\n\t5 % ; , = <= ->"))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Parse("x", content)
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			lines := bytes.Count(content, []byte("\n")) + 1
			for _, fault := range faults {
				if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.What == "" {
					t.Fatalf("%+v", fault)
				}
			}
			_ = faults.Detail()
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // the seeds are many, and all are run first
		defer cancel()
		r, err := s.Run(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return // a long one: what stops it is a test of its own
		}
		if err != nil {
			t.Fatal(err)
		}
		updated, _ := s.Update(content, r)
		if _, err := Parse("x", updated); err != nil {
			t.Fatalf("of\n%s\nan update made\n%s\nwhich cannot be read: %v", content, updated, err)
		}
	})
}
