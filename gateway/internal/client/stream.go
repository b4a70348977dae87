package client

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Message is one of the gateway's stream.
type Message struct {
	ID   int64  // of the event; 0 if it has none
	Kind string // such as "transition"
	Data []byte // JSON
}

const (
	firstPause = time.Second // before a stream that broke is opened again
	maxPause   = 15 * time.Second
	maxLine    = 1 << 20
)

// Stream yields the messages after that one (0: from now on) until ctx is done
// or the gateway refuses. A connection that breaks is opened again where it was,
// after saying so to lost; between two messages any time may pass.
func (c *Client) Stream(ctx context.Context, after int64, lost func(error)) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		pause := firstPause
		for {
			more := true
			err := c.stream(ctx, after, func(m Message) bool {
				pause = firstPause
				after = max(after, m.ID)
				more = yield(m, nil)
				return more
			})
			switch failure, ok := err.(*Error); { //nolint:errorlint // it comes from here, unwrapped
			case !more:
				return
			case ctx.Err() != nil:
				return
			case ok && failure.Kind != Unreachable && failure.Kind != Failed:
				yield(Message{}, err)
				return
			}
			lost(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, maxPause)
		}
	}
}

// stream reads one connection to its end, which is always an error.
func (c *Client) stream(ctx context.Context, after int64, got func(Message) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{}
	if after > 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	req, err := c.request(ctx, http.MethodGet, "stream", query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		content := make([]byte, 64<<10)
		n, _ := resp.Body.Read(content)
		if _, err = c.judge(resp, content[:n]); err == nil {
			err = &Error{Kind: NotFound, Status: resp.StatusCode, Detail: fmt.Sprintf("%s has no stream of events", c.Server())}
		}
		return err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	var m Message
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "": // the end of a message
			if len(m.Data) > 0 && !got(m) {
				return nil
			}
			m = Message{}
		case field == "id":
			m.ID, _ = strconv.ParseInt(value, 10, 64)
		case field == "event":
			m.Kind = value
		case field == "data" && m.Data != nil:
			m.Data = append(append(m.Data, '\n'), value...)
		case field == "data":
			m.Data = []byte(value)
		}
	}
	if err := lines.Err(); err != nil {
		return c.unreachable(ctx, err)
	}
	return &Error{Kind: Unreachable, Detail: fmt.Sprintf("%s ended the stream", c.Server())}
}
