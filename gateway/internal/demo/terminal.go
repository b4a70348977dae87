package demo

import (
	"fmt"
	"io"
	"strings"
)

// terminal shows lines in place of the ones it showed before.
type terminal struct {
	out           io.Writer
	style         style
	size          func() (width, height int)
	shown         int // lines on the screen, the cursor in the last of them
	width, height int // when they were drawn
}

// show draws a view over the one before.
func (t *terminal) show(v view) error {
	width, height := t.size()
	// One column and one line stay free: a character in the last column would
	// leave the cursor in a state that terminals do not agree on.
	lines := draw(v, max(width-1, 1), max(height-1, 1))

	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l") // as one frame, without a cursor
	switch {
	case t.shown > 0 && (width != t.width || height != t.height):
		b.WriteString("\x1b[2J\x1b[H") // the terminal has moved the lines about
	case t.shown > 1:
		fmt.Fprintf(&b, "\x1b[%dA", t.shown-1)
	}
	b.WriteString("\r")
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(t.style.encode(l) + "\x1b[K")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	t.shown, t.width, t.height = len(lines), width, height
	_, err := io.WriteString(t.out, b.String())
	return err
}

// close leaves the last view where it is and gives the cursor back.
func (t *terminal) close() error {
	if t.shown == 0 {
		return nil
	}
	_, err := io.WriteString(t.out, "\n\x1b[?25h")
	return err
}
