package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// A dependency whose calls all pass is not told as cut off, in words nor in numbers.
func TestShadowIsNotToldAsCutOff(t *testing.T) {
	b := newBenchOf(t, config.Dependency{
		ID: "hotel-1", Name: "Aurora", URL: parsed(t, "https://api.hotel-1.example"),
		Settings: recloser.Config{Consecutive: 4, Jitter: recloser.Off, Shadow: true},
	})
	b.trip("hotel-1")
	var d Dependency
	b.want(http.StatusOK, &d, "GET", "/api/v1/dependencies/hotel-1", "")
	if d.State != "open" || !d.Shadow || d.Effect != "would be cut off (shadow: calls pass)" || !strings.Contains(d.Explain, d.Effect) {
		t.Errorf("state %s, shadow %v, effect %q, explain %q", d.State, d.Shadow, d.Effect, d.Explain)
	}
	if text := b.send("GET", "/metrics", "").Body.String(); !strings.Contains(text, `recloser_shadow{dependency="hotel-1"} 1`) {
		t.Error("no recloser_shadow")
	}
}
