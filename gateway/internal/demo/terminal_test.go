package demo

import (
	"strconv"
	"strings"
	"testing"
)

func TestTerminalDrawsInPlace(t *testing.T) {
	var out strings.Builder
	width, height := 80, 24
	tm := &terminal{out: &out, size: func() (int, int) { return width, height }}
	frame := func() string {
		out.Reset()
		if err := tm.show(duringOutage()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}

	first := frame()
	lines := strings.Count(first, "\n") + 1
	if lines > height-1 {
		t.Errorf("%d lines on a terminal of %d: it would scroll", lines, height)
	}
	if strings.Contains(first, "\x1b[2J") {
		t.Error("the first frame clears what was on the terminal before")
	}
	if up := "\x1b[" + strconv.Itoa(lines-1) + "A\r"; !strings.Contains(frame(), up) {
		t.Errorf("the second frame does not go %d lines up", lines-1)
	}
	width = 120
	if !strings.Contains(frame(), "\x1b[2J\x1b[H") {
		t.Error("after a resize the screen is not drawn anew")
	}
	width, height = 30, 5
	for text := range strings.SplitSeq(frame(), "\n") {
		if strings.Contains(text, "waiting") {
			t.Errorf("on a terminal of %d columns: %q", width, text)
		}
	}
	out.Reset()
	if err := tm.close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "\n\x1b[?25h" {
		t.Errorf("at the end: %q, want the next line and the cursor", out.String())
	}
}
