package channel

import (
	"strings"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// What callers do not feel wakes nobody, and a program is told so in fields.
func TestShadowIsNoAlarm(t *testing.T) {
	m := goldenMessages()["together"]
	m.Items = m.Items[:1]
	m.Items[0].Shadow = true
	a := alertsOf(m, m.At)[0]
	if a.Labels["severity"] != "info" || a.Labels["alertname"] != nameShadow || !strings.Contains(a.Annotations["effect"], "shadow") {
		t.Errorf("alert %v %v", a.Labels, a.Annotations)
	}
	body, err := Event(message.Message{Kind: message.Started, Items: m.Items})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); !strings.Contains(text, `"shadow":true`) || !strings.Contains(text, `"effect":"would be `) {
		t.Errorf("event %s", text)
	}
}
