package demo

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPicture(t *testing.T) {
	v := duringOutage()
	v.panelURL = "http://<&>"
	var b strings.Builder
	if err := drawPicture(&b, v); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	shapes := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, b.String())
		}
		switch token := token.(type) {
		case xml.StartElement:
			shapes[token.Name.Local]++
		case xml.CharData:
			text.Write(token)
		}
	}
	for _, want := range []string{
		"after 17 s of 45 s: with Recloser 0 guests wait, the longest for 0.0 s; without it 72, the longest for 7.2 s",
		"WITH RECLOSER", "half-open: on trial by one guest", "http://<&>", "6 calls in a row too slow",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the picture does not say %q:\n%s", want, text.String())
		}
	}
	if strings.ContainsAny(text.String(), "▁█━─│●◐■▲") {
		t.Errorf("a mark is left to the font:\n%s", text.String())
	}
	// Six rows are well, two in each lane, and hotel-5 is on trial.
	if shapes["circle"] != 5 || shapes["path"] < 5 || shapes["rect"] < 25 {
		t.Errorf("shapes: %v", shapes)
	}
}
