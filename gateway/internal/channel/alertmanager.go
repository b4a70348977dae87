package channel

import (
	"context"
	"encoding/json"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// alertmanager posts to an Alertmanager by its API v2. It groups, silences and
// routes on its own, so it gets an alert for each dependency: one that fires while
// the incident or the override lasts, and is resolved by its end.
type alertmanager struct{ *poster }

// lasts is for how long an alert fires that is not told again: a gateway that is gone
// leaves none behind.
const lasts = 5 * time.Minute

// alert is one of the API's.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt,omitzero"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// The alerts' names.
const (
	nameCutOff = "RecloserCutOff"
	nameShadow = "RecloserWouldCutOff"
	nameByHand = "RecloserByHand"
	nameTest   = "RecloserTest"
)

// Refresh posts again what lasts.
func (c alertmanager) Refresh(ctx context.Context, m message.Message) error { return c.Send(ctx, m) }

// Send posts an alert for each of m's items.
func (c alertmanager) Send(ctx context.Context, m message.Message) error {
	alerts := alertsOf(m, time.Now())
	if len(alerts) == 0 {
		return nil // nothing of it is news there
	}
	body, err := json.Marshal(alerts)
	if err != nil {
		return &SendError{Permanent: true, Text: err.Error()}
	}
	return c.deliver(ctx, "api/v2/alerts", body, jsonHeader())
}

// alertsOf returns the alerts for a message that is sent now.
func alertsOf(m message.Message, now time.Time) []alert {
	if m.Kind == message.Test {
		return []alert{{
			Labels:      map[string]string{"alertname": nameTest, "severity": "none"},
			Annotations: map[string]string{"summary": m.Title(), "description": m.Hint()},
			StartsAt:    m.At, EndsAt: now.Add(lasts), GeneratorURL: m.Panel,
		}}
	}
	var all []alert
	for _, i := range m.Items {
		one := m
		one.Items = []message.Item{i}
		a := alert{
			Labels: map[string]string{"alertname": nameCutOff, "dependency": i.Dependency, "severity": "critical"},
			Annotations: map[string]string{
				"summary": one.Title(), "description": one.String(), "name": message.Tidy(i.Name), "incident": i.Key,
				"effect": i.Effect(),
			},
			StartsAt: i.Since, EndsAt: now.Add(lasts),
		}
		if seen := i.Seen.String(); seen != "" {
			a.Annotations["seen_by"] = message.Tidy(seen)
		}
		if i.Group != "" {
			a.Labels["group"] = i.Group
		}
		if links := one.Links(); len(links) > 0 {
			a.GeneratorURL = links[0].URL
		}
		if i.Shadow { // nobody is to be woken
			a.Labels["alertname"], a.Labels["severity"] = nameShadow, "info"
		}
		switch m.Kind {
		case message.Ended, message.Removed:
			a.EndsAt = i.Over
		case message.Released:
			a.Labels["alertname"], a.Labels["severity"], a.Labels["state"] = nameByHand, "info", i.Why.To.String()
			a.EndsAt = i.Over
		case message.Isolated, message.Held, message.Ending, message.Endless:
			a.Labels["alertname"], a.Labels["severity"], a.Labels["state"] = nameByHand, "info", i.Why.To.String()
		case message.Calm:
			continue // its incidents were resolved each by its own end
		case message.Started, message.Reminder, message.Flapping, message.Test:
		}
		if !a.EndsAt.After(a.StartsAt) {
			a.EndsAt = a.StartsAt.Add(time.Millisecond) // it takes none that ends before it starts
		}
		all = append(all, a)
	}
	return all
}
