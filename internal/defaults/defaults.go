// Package defaults is what the Configs of the root and of package guard have in
// common: a zero field means its default, a negative one means off.
package defaults

import (
	"fmt"
	"strings"
	"time"
)

// Off is what a field that is off is set to.
const Off = -1

// Fill gives a field its default if it is zero, and Off if it is negative.
func Fill[T int | float64 | time.Duration](field *T, value T) {
	switch {
	case *field == 0:
		*field = value
	case *field < 0:
		*field = Off
	}
}

// Between reports whether a duration as it was given is in its range, and says
// what the range is.
func Between(v, low, high time.Duration, canBeOff bool) (ok bool, rule string) {
	rule = fmt.Sprintf("must be from %s to %s", Short(low), Short(high))
	if canBeOff {
		rule += ", or off"
	}
	return v == 0 || v >= low && v <= high || canBeOff && v < 0, rule
}

// Short writes a duration for messages, without the zero parts that String appends: "1h"
// rather than "1h0m0s".
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
