package demo

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// The screen of docs/demo.svg, and how long before the recovery it is drawn:
// when the most guests wait.
const (
	pictureColumns, pictureLines = 103, 28
	pictureBefore                = 2 * time.Second
)

// A cell of the picture, in pixels, and what is around all of them.
const (
	cellWidth, cellHeight = 8.4, 19.0
	pictureLeft           = 16.0
	pictureTop            = 14.0
)

// pieces are what is drawn as one: words with single spaces between them, bars
// of one kind, or a mark. Bars and marks are shapes, as fonts do not agree on them.
var pieces = regexp.MustCompile(`[▁▂▃▄▅▆▇█]+|━+|─+|[│●◐■▲]|[^▁▂▃▄▅▆▇█━─│●◐■▲ ]+(?: [^▁▂▃▄▅▆▇█━─│●◐■▲ ]+)*`)

// drawPicture writes a view as SVG.
func drawPicture(out io.Writer, v view) error {
	var b strings.Builder
	width, height := 2*pictureLeft+pictureColumns*cellWidth, 2*pictureTop+pictureLines*cellHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0[1]f" height="%.0[2]f" role="img" aria-labelledby="t">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"t\">recloser demo after %.0f s of %s: with Recloser %d guests wait, the longest for %s; without it %d, the longest for %s</title>\n",
		v.now.Seconds(), inSeconds(v.script.Length), v.with.waiting, tenths(v.with.longest), v.without.waiting, tenths(v.without.longest))
	b.WriteString(`<rect width="100%" height="100%" rx="10" fill="#14191d"/>` + "\n" +
		`<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">` + "\n")
	for row, l := range draw(v, pictureColumns, pictureLines) {
		column := 0
		for _, s := range l {
			for _, at := range pieces.FindAllStringIndex(s.text, -1) {
				x := pictureLeft + float64(column+utf8.RuneCountInString(s.text[:at[0]]))*cellWidth
				b.WriteString(shape(s.text[at[0]:at[1]], s.look, x, pictureTop+float64(row)*cellHeight) + "\n")
			}
			column += utf8.RuneCountInString(s.text)
		}
	}
	b.WriteString("</g>\n</svg>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// shape draws a piece whose upper left corner is at x, y.
func shape(piece string, l look, x, y float64) string {
	n, fill := float64(utf8.RuneCountInString(piece)), paint(l)
	middle, centre := x+cellWidth/2, y+cellHeight/2
	switch first, _ := utf8.DecodeRuneInString(piece); first {
	case '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█':
		var d strings.Builder
		for i, r := range []rune(piece) {
			h := float64(r-'▁'+1) / 8 * cellHeight
			fmt.Fprintf(&d, "M%.1f %.1fh%.2fv%.1fh-%.2[3]fz", x+float64(i)*cellWidth, y+cellHeight-h, cellWidth+.05, h)
		}
		return fmt.Sprintf(`<path d="%s" fill="%s"/>`, d.String(), fill)
	case '━':
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%.1f" height="3" fill="%s"/>`, x, centre-1.5, n*cellWidth, fill)
	case '─':
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%.1f" height="1" fill="%s" opacity=".6"/>`, x, centre-.5, n*cellWidth, fill)
	case '│':
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="1" height="%.0f" fill="#3a444b"/>`, middle-.5, y, cellHeight)
	case markWell:
		return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, middle, centre, fill)
	case markTrial:
		return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="3.5" fill="none" stroke="%s"/><path d="M%.1[1]f %.1[4]fa3.5 3.5 0 0 0 0 7z" fill="%[3]s"/>`,
			middle, centre, fill, centre-3.5)
	case markCutOff:
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="7" height="7" fill="%s"/>`, middle-3.5, centre-3.5, fill)
	case markTrouble:
		return fmt.Sprintf(`<path d="M%.1f %.1fl4 7.5h-8z" fill="%s"/>`, middle, centre-4, fill)
	}
	weight := ""
	if l == bold || l == goodTitle || l == badTitle {
		weight = ` font-weight="700"`
	}
	var text strings.Builder
	_ = xml.EscapeText(&text, []byte(piece)) // a Builder takes everything
	return fmt.Sprintf(`<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`, x, y+14, n*cellWidth, fill, weight, text.String())
}

// paint is a look on a dark ground.
func paint(l look) string {
	switch l {
	case good, goodTitle:
		return "#4fb8af"
	case bad, badTitle:
		return "#ff8a5c"
	case trying:
		return "#62aef0"
	case dim:
		return "#7d8a93"
	default:
		return "#d7dee3"
	}
}
