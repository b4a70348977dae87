package demo

import "testing"

func TestFit(t *testing.T) {
	l := line{{"● ", good}, {"hotel-3", bold}, {" answers", plain}}
	tests := []struct {
		width int
		want  string // between bars, to show spaces
	}{
		{20, "|● hotel-3 answers   |"},
		{17, "|● hotel-3 answers|"},
		{16, "|● hotel-3 answe…|"},
		{10, "|● hotel-3…|"},
		{9, "|● hotel-…|"},
		{5, "|● ho…|"},
		{0, "||"},
	}
	for _, tt := range tests {
		got := l.fit(tt.width)
		if text := "|" + raw(got) + "|"; text != tt.want || got.width() != tt.width {
			t.Errorf("fit(%d) = %s (%d wide), want %s", tt.width, text, got.width(), tt.want)
		}
	}
}

func TestRight(t *testing.T) {
	if got := raw(words("left").right(words("right"), 12)); got != "left   right" {
		t.Errorf("got %q", got)
	}
	if got := raw(words("left").right(words("right"), 8)); got != "le…right" {
		t.Errorf("without room: got %q", got)
	}
}

func TestEncode(t *testing.T) {
	l := line{{"■ ", bad}, {"hotel-3", plain}, {" · ▁▄█ ━─│ ✓✗◐▲ é  ", plain}}
	tests := []struct {
		style style
		want  string
	}{
		{style{}, "■ hotel-3 · ▁▄█ ━─│ ✓✗◐▲ é"},
		{style{colour: true}, "\x1b[31m■ \x1b[0mhotel-3 · ▁▄█ ━─│ ✓✗◐▲ é"},
		{style{ascii: true}, "x hotel-3 - .:# =-| +x~! ?"},
	}
	for _, tt := range tests {
		if got := tt.style.encode(l); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.style, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("  one two  three fourteen-and-longer in 1.80 s: 2 s", 8)
	want := []string{"one two", "three", "fourteen-and-longer", "in", "1.80 s:", "2 s"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: got %q, want %q", i, got[i], want[i])
		}
	}
}

func TestParagraph(t *testing.T) {
	lines := paragraph(line{{"✓ ", good}}, "one two three", dim, 9)
	want := []string{"✓ one two", "  three"}
	if len(lines) != len(want) {
		t.Fatalf("got %q, want %q", lines, want)
	}
	for i := range want {
		if got := raw(lines[i]); got != want[i] {
			t.Errorf("line %d: got %q, want %q", i, got, want[i])
		}
	}
}

// raw returns the text of a line, with all its spaces.
func raw(l line) string {
	text := ""
	for _, s := range l {
		text += s.text
	}
	return text
}
