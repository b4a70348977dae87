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

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
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

// data is the event's own part. Who reads it is a program of others: names stay as
// they are, whatever becomes of package message.
type data struct {
	Title string       `json:"title"`
	Text  string       `json:"text"`
	Hint  string       `json:"hint,omitempty"`
	Kind  message.Kind `json:"kind"`
	Of    int          `json:"of"`
	Us    bool         `json:"us"`
	Nodes int          `json:"nodes,omitempty"`
	Items []subject    `json:"items"`
}

// subject is one dependency that the event is about.
type subject struct {
	Key        string    `json:"key"`
	Dependency string    `json:"dependency"`
	Name       string    `json:"name"`
	Group      string    `json:"group,omitempty"`
	State      string    `json:"state"`
	Effect     string    `json:"effect"`
	Shadow     bool      `json:"shadow,omitempty"`
	Since      time.Time `json:"since"`
	Over       time.Time `json:"over,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	NextTrial  time.Time `json:"next_trial,omitzero"`
	Trips      int       `json:"trips,omitempty"`
	Spared     uint64    `json:"spared,omitempty"`
	LastKnown  int64     `json:"last_known_ms,omitempty"`
	SeenBy     *seenBy   `json:"seen_by,omitempty"`
	Why        *cause    `json:"why,omitempty"` // it began
	Now        *cause    `json:"now,omitempty"` // it is over
}

// seenBy says which nodes of several have seen it fail.
type seenBy struct {
	Text string `json:"text"` // "2 of 3 nodes"
	fleet.Seen
}

func seenByOf(s fleet.Seen) *seenBy {
	if s == (fleet.Seen{}) {
		return nil
	}
	return &seenBy{message.Tidy(s.String()), s}
}

// cause is why something began or is over.
type cause struct {
	Reason    recloser.Reason `json:"reason"`
	At        time.Time       `json:"at"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Good      uint64          `json:"good"`
	Failed    uint64          `json:"failed"`
	Slow      uint64          `json:"slow"`
	Row       int             `json:"row"`
	RateLimit float64         `json:"rate_limit,omitempty"`
	RowLimit  int             `json:"row_limit,omitempty"`
	SlowLimit int64           `json:"slow_limit_ms,omitempty"`
	Window    int64           `json:"window_ms,omitempty"`
	OpenFor   int64           `json:"open_for_ms,omitempty"`
	LastError string          `json:"last_error,omitempty"`
	By        string          `json:"by,omitempty"`
	Note      string          `json:"note,omitempty"`
}

func subjectOf(i message.Item) subject {
	return subject{
		Key: i.Key, Dependency: i.Dependency, Name: message.Tidy(i.Name), Group: i.Group,
		State: i.State.String(), Effect: i.Effect(), Shadow: i.Shadow, Since: i.Since.UTC(), Over: i.Over.UTC(), Until: i.Until.UTC(), NextTrial: i.Next.UTC(),
		Trips: i.Trips, Spared: i.Spared, LastKnown: i.LastKnown.Milliseconds(), SeenBy: seenByOf(i.Seen), Why: causeOf(i.Why), Now: causeOf(i.Now),
	}
}

func causeOf(w message.Why) *cause {
	if w.Reason == "" {
		return nil
	}
	return &cause{
		Reason: w.Reason, At: w.At.UTC(), From: w.From.String(), To: w.To.String(),
		Good: w.Counts.Good, Failed: w.Counts.Failed, Slow: w.Counts.Slow, Row: w.Counts.Run,
		RateLimit: w.Limits.Rate, RowLimit: w.Limits.Row, SlowLimit: w.Limits.Slow.Milliseconds(), Window: w.Limits.Window.Milliseconds(),
		OpenFor: w.OpenFor.Milliseconds(), LastError: w.Cause, By: message.Tidy(w.By), Note: message.Tidy(w.Note),
	}
}

// Send posts m as a CloudEvent.
func (w *webhook) Send(ctx context.Context, m message.Message) error {
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
	d := data{Title: m.Title(), Text: m.String(), Hint: m.Hint(), Kind: m.Kind, Of: m.Of, Us: m.Us, Nodes: m.Nodes, Items: []subject{}}
	for _, i := range m.Items {
		d.Items = append(d.Items, subjectOf(i))
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
