package channel

import (
	"context"
	"net/http"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// teams sends to a Microsoft Teams channel through a Workflows webhook.
type teams struct{ *poster }

// Send posts m as a card.
func (t teams) Send(ctx context.Context, m message.Message) error {
	body, err := Card(m)
	if err != nil {
		return &SendError{Permanent: true, Text: err.Error()}
	}
	a, err := t.post(ctx, "", body, jsonHeader())
	if err != nil {
		return err
	}
	if a.code == http.StatusOK && strings.Contains(a.text, "HTTP error") {
		// Older webhooks wrap Teams' own refusal in a 200; a good one says "1".
		return &SendError{Text: a.status() + ", but the text tells of an error of Teams", Wait: a.wait}
	}
	return t.judge(a)
}
