package entrant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const line = "4711 (ngi nx) :) S 1 4711 4711 0 -1 4194560 1179 0 0 0 250 31 0 0 20 0 5 0 1234 1 2 3"
	got, err := parseStat([]byte(line))
	if want := 2810 * time.Millisecond; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "4711 nginx S 1", "4711 (nginx) S 1 2"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestConfigurationsNameEveryHotel(t *testing.T) {
	s := setting{
		Port: 1111, Spare: 2222, ProbePath: "/health",
		Hotels: []Hotel{{ID: "hotel-1", Address: "127.0.0.1:3333"}, {ID: "hotel-2", Address: "127.0.0.1:4444", Name: "Two"}},
	}
	for _, k := range append(Rivals(), Recloser()) {
		t.Run(k.Name, func(t *testing.T) {
			s.File = filepath.Join(t.TempDir(), "file")
			if err := s.write(k.file); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"hotel-1", "hotel-2", "127.0.0.1:3333", "127.0.0.1:4444"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
		})
	}
}
