package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// G18: the secret of a webhook's url appears nowhere it is not revealed.
func TestSecretIsMasked(t *testing.T) {
	const word = "sig=TOPSECRET"
	s := Secret("https://hook.example/?" + word)
	team := Channel{Kind: Teams, Name: "gates", URL: s, Key: s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", team)
		fmt.Fprintf(&out, verb+"\n", &team)
	}
	fmt.Fprintln(&out, s, team, []Secret{s}, map[Secret]Secret{s: s})
	if err := json.NewEncoder(&out).Encode(map[string]any{"s": s, "t": team}); err != nil {
		t.Fatal(err)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "url", s, "team", team)
	}
	hex := fmt.Sprintf("%x", word)
	if got := out.String(); strings.Contains(got, "TOPSECRET") || strings.Contains(strings.ToLower(got), hex) {
		t.Errorf("shown:\n%s", got)
	}
	if !strings.Contains(out.String(), "***") {
		t.Error("not even the mask is shown")
	}
	if s.Reveal() != "https://hook.example/?"+word {
		t.Error("Reveal does not return the secret")
	}
}

func TestSecretIsMaskedInConfig(t *testing.T) {
	c := loadGood(t)
	for _, s := range []string{fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c.Alerts)} {
		if strings.Contains(s, "sig=") {
			t.Errorf("shown: %s", s)
		}
	}
}
