//go:build unix

package fleet_test

import (
	"fmt"
	"strings"
	"testing"
)

// pair is one figure of both.
type pair struct {
	title               string
	gobreaker, recloser float64
}

// comparison returns a table of pairs in Markdown.
func comparison(pairs []pair) string {
	var text strings.Builder
	text.WriteString("| | gobreaker | recloser | ratio |\n|---|---:|---:|---:|\n")
	for _, p := range pairs {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", p.title, figure(p.gobreaker), figure(p.recloser), p.ratio())
	}
	return text.String()
}

// ratio is that of ours to theirs, where there is one.
func (p pair) ratio() string {
	if p.gobreaker == 0 {
		return "-"
	}
	return figure(p.recloser / p.gobreaker)
}

// figure has three digits that count, and all before the point.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v > 0 && v < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3g", v)
}

func TestComparison(t *testing.T) {
	got := comparison([]pair{
		{"calls/s", 4.4, 49.8},
		{"ns", 312_000, 98.04},
		{"refused, %", 0, 0},
		{"none", 20, 0},
	})
	const want = `| | gobreaker | recloser | ratio |
|---|---:|---:|---:|
| calls/s | 4.4 | 49.8 | 11.3 |
| ns | 312000 | 98 | < 0.001 |
| refused, % | 0 | 0 | - |
| none | 20 | 0 | 0 |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
