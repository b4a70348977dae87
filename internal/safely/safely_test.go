package safely

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
)

func TestIsAndAs(t *testing.T) {
	op := &net.OpError{Op: "read", Err: io.EOF}
	for name, c := range map[string]struct {
		err    error
		is, as bool
	}{
		"nil":              {nil, false, false},
		"another":          {context.Canceled, false, false},
		"found":            {op, true, true},
		"wrapped":          {fmt.Errorf("asking: %w", op), true, true},
		"panics":           {(*net.OpError)(nil), false, true},
		"panics, wrapped":  {fmt.Errorf("asking: %w", (*net.OpError)(nil)), false, true},
		"panics in a join": {errors.Join((*net.AddrError)(nil), (*fails)(nil)), false, false},
	} {
		if got := Is(c.err, io.ErrClosedPipe, io.EOF); got != c.is {
			t.Errorf("%s: Is says %v", name, got)
		}
		if _, got := As[*net.OpError](c.err); got != c.as {
			t.Errorf("%s: As says %v", name, got)
		}
	}
}

type fails struct{ err error }

func (f *fails) Error() string { return f.err.Error() }
func (f *fails) Unwrap() error { return f.err }
