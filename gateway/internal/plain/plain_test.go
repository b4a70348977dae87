package plain

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                       "0 s",
		0:                                  "0 s",
		800 * time.Millisecond:             "800 ms",
		1500 * time.Millisecond:            "1.5 s",
		5*time.Second + 1:                  "5 s",
		9999 * time.Millisecond:            "9.9 s",
		59900 * time.Millisecond:           "59 s",
		time.Minute:                        "1 min",
		760 * time.Second:                  "12 min 40 s",
		125 * time.Minute:                  "2 h 5 min",
		11*time.Hour + 5*time.Minute:       "11 h 5 min",
		23*time.Hour + 59*time.Minute + 59: "23 h 59 min",
		50*time.Hour + 59*time.Minute:      "2 d 2 h",
		7*24*time.Hour + 30*time.Minute:    "7 d",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		" two\r\nlines\tand\x00nul ": "two lines and nul",
		"right\u202eto left":         "right to left",
		"\u2066isolated\u2069":       "isolated",
		"bad \xff utf-8":             "bad utf-8",
		"Привет, 日本 – *this* stays <is>": "Привет, 日本 – *this* stays <is>",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	const says = "The config on disk was refused, and the one before is in force: "
	for in, want := range map[string]string{"x.yaml:1:2: a\u202eb": "x.yaml:1:2: a b", "a\nb": "a; and 1 more", "a\nb\nc": "a; and 2 more"} {
		if got := Refused(in); got != says+want {
			t.Errorf("Refused(%q) = %q, want %q", in, got, says+want)
		}
	}
}

func TestBecause(t *testing.T) {
	for _, c := range [][3]string{
		{"8 bad calls in a row (limit 5)", "answered 500", "8 bad calls in a row (limit 5): answered 500"},
		{"8 bad calls in a row (limit 5)", "", "8 bad calls in a row (limit 5)"},
		{"6 bad calls in a row, 4 of them running longer than usual (0.314 s)", "no answer within 0.314 s, longer than usual", "6 bad calls in a row, 4 of them running longer than usual (0.314 s)"},
		{"6 bad calls in a row, 4 of them running longer than usual (0.314 s)", "answered 500", "6 bad calls in a row, 4 of them running longer than usual (0.314 s): answered 500"},
		{"it says: answered 500", "answered 500", "it says: answered 500"},
		{"", "answered 500", "answered 500"},
	} {
		if got := Because(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
