// Package channel writes messages in the form of those who show them, and sends
// them: Microsoft Teams, Slack, a webhook of one's own, Alertmanager, and whatever
// else shoutrrr knows.
package channel

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// Channel is a way to reach people. It must be comparable: outbox compares them, and two
// that are equal are the same. Send is safe for concurrent use: a test may pass what
// waits. It returns nil once the other side has accepted the message; an error is
// tried again unless it is a *SendError that says Permanent. No error holds a
// secret.
type Channel interface {
	Send(ctx context.Context, m message.Message) error
}

// Refresher is a channel that forgets what it is not told again each minute.
type Refresher interface {
	// Refresh tells what lasts. m has the incidents that do.
	Refresh(ctx context.Context, m message.Message) error
}

// SendError is a message that was not accepted.
type SendError struct {
	Text      string
	Permanent bool          // the same message would be refused again
	Address   bool          // whatever is sent there is refused until somebody mends the address
	Wait      time.Duration // how long the other side asks to wait; 0 if it does not say
}

// Error returns Text.
func (e *SendError) Error() string { return e.Text }

// New returns the channel that c describes. A client without a Timeout gets 10 s,
// and redirects are never followed. A channel whose URL cannot be used says so
// whenever it should send.
func New(c config.Channel, client *http.Client) Channel {
	p := newPoster(c, client)
	switch c.Kind {
	case config.Teams:
		return teams{p}
	case config.Slack:
		return slack{p}
	case config.Webhook:
		return &webhook{p, func() []byte { return []byte(c.Key.Reveal()) }}
	case config.Alertmanager:
		return alertmanager{p}
	case config.Shoutrrr:
		return newShoutrrr(c)
	}
	panic(fmt.Sprintf("channel: unknown kind %q", c.Kind)) // config lets none through
}
