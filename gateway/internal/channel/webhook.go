package channel

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// webhook sends CloudEvents to a program of one's own.
type webhook struct {
	*poster
	key func() []byte // a func: it must not be printed
}

// SignatureHeader says when a webhook's body was signed and by which signature:
// "t=1796069242,v1=HEX". HEX is the HMAC-SHA256 of the time, a dot and the body.
const SignatureHeader = "Recloser-Signature"

// event is a CloudEvent 1.0 in structured mode.
type event struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Subject     string          `json:"subject,omitempty"`
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"`
}

// data is the event's own part.
type data struct {
	Title string         `json:"title"`
	Text  string         `json:"text"`
	Hint  string         `json:"hint,omitempty"`
	Kind  message.Kind   `json:"kind"`
	Of    int            `json:"of"`
	Us    bool           `json:"us"`
	Items []message.Item `json:"items"`
}

// Send posts m as a CloudEvent.
func (w webhook) Send(ctx context.Context, m message.Message) error {
	body, err := Event(m)
	if err != nil {
		return &SendError{Permanent: true, Text: err.Error()}
	}
	h := http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}
	if key := w.key(); len(key) > 0 {
		h.Set(SignatureHeader, Sign(key, time.Now(), body))
	}
	return w.deliver(ctx, "", body, h)
}

// Event returns the request body for a webhook.
func Event(m message.Message) ([]byte, error) {
	d := data{Title: m.Title(), Text: m.String(), Hint: m.Hint(), Kind: m.Kind, Of: m.Of, Us: m.Us, Items: []message.Item{}}
	for _, i := range m.Items {
		i.Name, i.Why.Note, i.Why.By, i.Now.Note, i.Now.By = message.Tidy(i.Name), message.Tidy(i.Why.Note), message.Tidy(i.Why.By), message.Tidy(i.Now.Note), message.Tidy(i.Now.By)
		d.Items = append(d.Items, i)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	e := event{
		SpecVersion: "1.0", ID: m.ID, Source: "recloser", Type: "recloser.alert." + string(m.Kind),
		Time: m.At.UTC(), ContentType: "application/json", Data: raw,
	}
	if m.Panel != "" {
		e.Source = m.Panel
	}
	if len(m.Items) == 1 {
		e.Subject = m.Items[0].Dependency
	}
	return json.Marshal(e)
}

// Sign returns the value of SignatureHeader.
func Sign(key []byte, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
