package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/defaults"
)

// word is what can be written instead of a number, and the number it stands for.
type word[T any] struct {
	name string
	is   T
}

// unit is how numbers of a kind are written.
type unit[T int | int64 | float64 | time.Duration] struct {
	kind   string
	schema object
	parse  func(string) (T, bool)
	print  func(T) string
	is     string              // "a share": what a text that cannot be read is not
	hint   func(string) string // what to write instead of such a text
}

// number is a value in a unit, from low to high. The engine judges those with
// bounds of 0 itself: they must only be above 0, as it takes 0 for the default and
// below for off, and whoever writes 0 means neither, or should say so.
func number[T int | int64 | float64 | time.Duration](u unit[T], to *T, low, high T, words ...word[T]) value {
	schema := u.schema
	if len(words) > 0 {
		var names []string
		for _, w := range words {
			names = append(names, w.name)
		}
		schema = object{"anyOf": []any{u.schema, object{"enum": names}}}
	}
	off := slices.ContainsFunc(words, func(w word[T]) bool { return w.name == "off" })
	return scalar(u.kind, schema, func(r *reader, n ast.Node, text string) {
		for _, w := range words {
			if text == w.name {
				*to = w.is
				return
			}
		}
		v, ok := u.parse(text)
		switch {
		case text == "off":
			r.fault(n, "write a value or remove the key", "%s cannot be off", r.key)
		case !ok && u.is == "":
			r.fault(n, "", "%s must be a whole number of at least 1, not %q", r.key, text)
		case !ok:
			r.fault(n, u.hint(text), "%q is not %s", text, u.is)
		case v <= 0 && off:
			r.fault(n, "write off to switch it off", "%s must be above 0, not %s", r.key, text)
		case v <= 0 && u.is == "":
			r.fault(n, "", "%s must be a whole number of at least 1, not %q", r.key, text)
		case v <= 0:
			r.fault(n, "", "%s must be above 0, not %s", r.key, text)
		case high > 0 && (v < low || v > high):
			r.fault(n, "", "%s %s must be from %s to %s", r.key, text, u.print(low), u.print(high))
		default:
			*to = v
		}
	}, func() string {
		for _, w := range words {
			if *to == w.is {
				return w.name
			}
		}
		if *to == 0 {
			return ""
		}
		return u.print(*to)
	})
}

func off[T int | float64 | time.Duration]() word[T] { return word[T]{"off", recloser.Off} }

func durations() unit[time.Duration] {
	return unit[time.Duration]{
		kind:   "duration",
		schema: object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		parse: func(s string) (time.Duration, bool) {
			d, err := time.ParseDuration(s)
			return d, err == nil
		},
		print: defaults.Short,
		is:    "a duration",
		hint:  durationHint,
	}
}

func duration(to *time.Duration, low, high time.Duration, words ...word[time.Duration]) value {
	return number(durations(), to, low, high, words...)
}

func whole(to *int, low, high int, words ...word[int]) value {
	return number(unit[int]{
		kind:   "number",
		schema: object{"type": "integer", "minimum": max(low, 1)},
		parse: func(s string) (int, bool) {
			v, err := strconv.Atoi(s)
			return v, err == nil
		},
		print: strconv.Itoa,
	}, to, low, high, words...)
}

func shares() unit[float64] {
	return unit[float64]{
		kind: "share",
		schema: object{"anyOf": []any{
			object{"type": "number", "exclusiveMinimum": 0},
			object{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?%?$`},
		}},
		parse: parseShare,
		print: func(v float64) string { return strconv.FormatFloat(math.Round(v*1e8)/1e6, 'f', -1, 64) + "%" },
		is:    "a share",
		hint:  func(string) string { return "write it like 50% or 0.5" },
	}
}

func share(to *float64, words ...word[float64]) value { return shareUpTo(to, 0, words...) }

// shareUpTo is share with a bound of its own, see number.
func shareUpTo(to *float64, high float64, words ...word[float64]) value {
	return number(shares(), to, min(high, 0.01), high, words...)
}

// parseShare reads "50%" and "0.5".
func parseShare(s string) (float64, bool) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := finite(strings.TrimSpace(number))
	if percent {
		v /= 100
	}
	return v, err == nil
}

func finite(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = errors.New("not a number")
	}
	return v, err
}

func rate(to *float64, high float64, words ...word[float64]) value {
	return number(unit[float64]{
		kind:   "rate",
		schema: object{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?/(s|min|h)$`},
		parse:  parseRate,
		print:  printRate,
		is:     "a rate",
		hint:   rateHint,
	}, to, 1.0/3600, high, words...)
}

// perUnit is how many seconds the units of a rate have.
func perUnit() []word[float64] { return []word[float64]{{"s", 1}, {"min", 60}, {"h", 3600}} }

// parseRate reads "50/s", "3000/min" and "10/h".
func parseRate(s string) (float64, bool) {
	number, unit, _ := strings.Cut(s, "/")
	v, err := finite(number)
	for _, u := range perUnit() {
		if unit == u.name {
			return v / u.is, err == nil
		}
	}
	return 0, false
}

// printRate takes the first unit in which the rate is a whole number.
func printRate(v float64) string {
	for _, u := range perUnit() {
		if n := math.Round(v * u.is); n >= 1 && math.Abs(n-v*u.is) < 1e-6 {
			return strconv.FormatFloat(n, 'f', -1, 64) + "/" + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64) + "/s"
}

var rateLike = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(?:/|per|)\s*(s|sec|second|m|min|minute|h|hour)?$`)

func rateHint(s string) string {
	m := rateLike.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "write it like 50/s, 3000/min or 10/h"
	}
	unit := map[string]string{"m": "min", "min": "min", "minute": "min", "h": "h", "hour": "h"}[m[2]]
	if unit == "" {
		unit = "s"
	}
	return fmt.Sprintf("write %s/%s", m[1], unit)
}

func sizes[T int | int64]() []word[T] {
	return []word[T]{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// size is a number of bytes.
func size[T int | int64](to *T, low, high T, words ...word[T]) value {
	return number(unit[T]{
		kind:   "size",
		schema: object{"type": "string", "pattern": `^[0-9]+(B|KiB|MiB|GiB)$`},
		parse: func(s string) (T, bool) {
			for _, u := range sizes[T]() {
				if number, ok := strings.CutSuffix(s, u.name); ok {
					v, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
					return T(v) * u.is, err == nil
				}
			}
			return 0, false
		},
		print: func(v T) string {
			for _, u := range sizes[T]() {
				if v >= u.is && v%u.is == 0 {
					return fmt.Sprintf("%d%s", v/u.is, u.name)
				}
			}
			return fmt.Sprint(v)
		},
		is:   "a size",
		hint: sizeHint,
	}, to, low, high, words...)
}

var sizeLike = regexp.MustCompile(`(?i)^(\d{1,9})\s*(k|m|g)?i?b?$`)

func sizeHint(s string) string {
	m := sizeLike.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "write it like 64KiB or 10MiB"
	}
	unit := "B"
	if m[2] != "" {
		unit = strings.ToUpper(m[2]) + "iB"
	}
	return "write " + m[1] + unit
}
