package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

const noAnswer = "no answer in time"

// poster sends to one URL.
type poster struct {
	name string // of the channel
	kind config.ChannelKind
	// url returns the address; nil if it cannot be used. Whoever knows it can
	// post, so it must not reach a log: formatting a func shows nothing.
	url    func() *url.URL
	client http.Client
}

func newPoster(c config.Channel, client *http.Client) *poster {
	p := &poster{name: c.Name, kind: c.Kind}
	if u, err := url.Parse(c.URL.Reveal()); err == nil && usable(c.Kind, u) {
		p.url = func() *url.URL { return u }
	}
	if client != nil {
		p.client = *client
	}
	if p.client.Timeout == 0 {
		p.client.Timeout = sendTimeout
	}
	// A redirect would take the message, and a Referer the secret, elsewhere.
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p
}

// usable accepts any https host, as webhooks move, and plain http to this
// machine only; an Alertmanager has no secret and often no TLS.
func usable(k config.ChannelKind, u *url.URL) bool {
	if u.Hostname() == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && (k == config.Alertmanager || config.IsLoopback(u.Hostname()))
}

// String names the channel and keeps its URL back.
func (p *poster) String() string { return fmt.Sprintf("%s channel %q", p.kind, p.name) }

// answer is what the other side said.
type answer struct {
	code int
	text string // the beginning of the body, which may echo the request
	wait time.Duration
}

func (a answer) status() string {
	return strings.TrimSpace(fmt.Sprintf("answered %d %s", a.code, http.StatusText(a.code)))
}

// post sends a body to a path below the URL.
func (p *poster) post(ctx context.Context, path string, body []byte, header http.Header) (answer, error) {
	if p.url == nil {
		return answer{}, &SendError{Address: true, Text: "its url cannot be used: " + p.fix()}
	}
	to := p.url()
	if path != "" {
		to = to.JoinPath(path)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, &SendError{Permanent: true, Text: p.mask(err)}
	}
	req.Header = header
	req.Header.Set("User-Agent", "recloser")
	resp, err := p.client.Do(req)
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return answer{}, &SendError{Text: noAnswer}
	case errors.Is(err, io.EOF):
		return answer{}, &SendError{Text: "the connection was closed without an answer"}
	case err != nil:
		return answer{}, &SendError{Text: p.mask(err)}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	wait, _ := httpbreaker.RetryAfter(resp.Header, time.Now())
	return answer{resp.StatusCode, string(text), wait}, nil
}

// deliver posts a body, and judges the answer.
func (p *poster) deliver(ctx context.Context, path string, body []byte, header http.Header) error {
	a, err := p.post(ctx, path, body, header)
	if err != nil {
		return err
	}
	return p.judge(a)
}

// judge is what an answer means. Accepted is all that most ever say: whether a
// message is shown is not told.
func (p *poster) judge(a answer) error {
	switch code := a.code; {
	case code >= 200 && code < 300:
		return nil
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return &SendError{Text: a.status(), Wait: a.wait}
	case code >= 300 && code < 400:
		return &SendError{Address: true, Text: a.status() + ": redirects are not followed; " + p.fix() + " to the final address"}
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusGone:
		return &SendError{Address: true, Text: a.status() + ": see whether it still exists there, and " + p.fix()}
	default:
		return &SendError{Permanent: true, Text: a.status() + ": it does not like the message; if it is not what it should be, " + p.fix()}
	}
}

// fix says where to mend the address.
func (p *poster) fix() string { return fmt.Sprintf("set the url of %s in alerts.%s", p.name, p.kind) }

// jsonHeader is the header of a JSON body.
func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// mask returns the text of an error without the URL.
func (p *poster) mask(err error) string { return mask(err, p.url()) }

// mask returns the text of an error without the parts of a URL that give it away:
// http.Client puts it into its errors, and what the other side sent may repeat
// parts of it.
func mask(err error, u *url.URL) string {
	for {
		ue, ok := err.(*url.Error) //nolint:errorlint // only the outermost: others may wrap texts of their own
		if !ok {
			break
		}
		err = ue.Err
	}
	secrets := []string{u.RequestURI(), u.Path, u.EscapedPath(), u.Opaque, u.Fragment, u.RawQuery}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		plain, err := url.PathUnescape(part)
		if err == nil && len(plain) > short { // "api" and the like are none
			secrets = append(secrets, part, plain)
		}
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.String(), u.User.Username(), password)
	}
	if !slices.Contains(addressed, u.Scheme) {
		secrets = append(secrets, u.Host)
	}
	return without(err.Error(), secrets)
}

// addressed are the schemes of URLs whose host is a machine's name. Several of
// shoutrrr's services have a key there.
var addressed = []string{"http", "https", "smtp", "generic", "gotify", "matrix", "mattermost", "rocketchat", "opsgenie", "zulip", "ntfy", "signal", "mqtt", "mqtts"}

// shortest is how long a part of a secret is that gives it away, and short how long a
// whole one. What is shorter is no use to anybody, and hiding it would spoil the text.
const (
	shortest = 8
	short    = 4
)

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
		for _, s := range secrets {
			if len(s) >= short && strings.HasPrefix(text, s) {
				hide = max(hide, len(s))
			}
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
