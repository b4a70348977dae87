package demo

import (
	"fmt"
	"io"
)

// Paper is what a run is written on. Only Out is needed.
type Paper struct {
	Out io.Writer // for the view, or the lines, and the summary
	// Size returns the size of the terminal behind Out. nil: it is none.
	Size   func() (width, height int)
	Colour bool
	ASCII  bool
}

func (p Paper) style() style { return style{p.Colour, p.ASCII} }

// say writes a sentence that is not part of the view.
func (p Paper) say(format string, values ...any) error {
	return p.write(paragraph(nil, fmt.Sprintf(format, values...), plain, p.width()))
}

func (p Paper) write(lines []line) error {
	style := p.style()
	for _, l := range lines {
		if _, err := fmt.Fprintln(p.Out, style.encode(l)); err != nil {
			return err
		}
	}
	return nil
}

// width is how wide text may be.
func (p Paper) width() int {
	if p.Size == nil {
		return summaryWidth
	}
	width, _ := p.Size()
	return min(width-1, summaryWidth)
}

// heading begins a part of a summary.
func heading(text string, width int) []line {
	return append([]line{nil}, paragraph(nil, text, bold, width)...)
}
