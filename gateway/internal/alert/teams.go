package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/httpbreaker"
)

// sendTimeout bounds one try, to the end of the answer.
const sendTimeout = 10 * time.Second

// teams sends to a Microsoft Teams channel through a Workflows webhook.
type teams struct {
	name string
	// url returns the webhook's address; nil if it cannot be used. Whoever knows
	// it can post, so it must not reach a log: formatting a func shows nothing.
	url    func() *url.URL
	client http.Client
}

func newTeams(t config.Teams, client *http.Client) *teams {
	c := &teams{name: t.Name}
	if u, err := url.Parse(string(t.URL)); err == nil && usable(u) {
		c.url = func() *url.URL { return u }
	}
	if client != nil {
		c.client = *client
	}
	if c.client.Timeout == 0 {
		c.client.Timeout = sendTimeout
	}
	// A redirect would take the message, and a Referer the secret, elsewhere.
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// usable accepts any https host, as webhooks move, and plain http to this
// machine only.
func usable(u *url.URL) bool {
	if u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && config.IsLoopback(u.Hostname())
}

// String names the channel and keeps its URL back.
func (t *teams) String() string { return fmt.Sprintf("teams channel %q", t.name) }

// Send posts m. Accepted is all that Teams ever says: whether it shows the
// message is not told.
func (t *teams) Send(ctx context.Context, m Message) error {
	if t.url == nil {
		return &SendError{Permanent: true, Text: "its url is not an https URL: set alerts.teams.url to the one of the workflow's webhook"}
	}
	body, err := Card(m)
	if err != nil {
		return &SendError{Permanent: true, Text: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url().String(), bytes.NewReader(body))
	if err != nil {
		return &SendError{Permanent: true, Text: t.mask(err)}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return &SendError{Text: t.mask(err)}
	}
	defer resp.Body.Close()
	// The text decides nothing but the oddity below, and may echo the request.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))

	status := fmt.Sprintf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	wait, _ := httpbreaker.RetryAfter(resp.Header, time.Now())
	switch code := resp.StatusCode; {
	case code == http.StatusOK && bytes.Contains(text, []byte("HTTP error")):
		// Older webhooks wrap Teams' own refusal in a 200; a good one says "1".
		return &SendError{Text: status + ", but the text tells of an error of Teams", Wait: wait}
	case code >= 200 && code < 300:
		return nil
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return &SendError{Text: status, Wait: wait}
	case code >= 300 && code < 400:
		return &SendError{Permanent: true, Text: status + ": redirects are not followed; set alerts.teams.url to the final address"}
	default:
		return &SendError{Permanent: true, Text: status + ": see whether the workflow still exists and alerts.teams.url is its address"}
	}
}

// mask returns the text of an error without the URL: http.Client puts it into
// its errors, and what the other side sent may repeat parts of it.
func (t *teams) mask(err error) string {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	u := t.url()
	secrets := []string{u.RequestURI(), u.Path}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	if u.User != nil {
		secrets = append(secrets, u.User.String())
	}
	return without(err.Error(), secrets)
}

// shortest is how long a part of a secret is that gives it away. What is shorter
// is no use to anybody, and hiding it would spoil the text.
const shortest = 8

// without replaces every part of a secret: an echo may begin or end anywhere.
func without(text string, secrets []string) string {
	var out strings.Builder
	for text != "" {
		hide := 0
		for n := shortest; n <= len(text); n++ {
			if !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(s, text[:n]) }) {
				break
			}
			hide = n
		}
		if hide > 0 {
			out.WriteString("***")
			text = text[hide:]
			continue
		}
		out.WriteByte(text[0])
		text = text[1:]
	}
	return out.String()
}
