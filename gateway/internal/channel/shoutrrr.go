package channel

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// viaShoutrrr sends plain text by the URL of one of shoutrrr's services.
type viaShoutrrr struct {
	name string
	url  func() *url.URL // a func: it must not be printed
	busy chan struct{}   // a try that hangs is waited for before the next one
}

func newShoutrrr(c config.Channel) Channel {
	u, err := url.Parse(c.URL.Reveal())
	if err != nil {
		u = &url.URL{}
	}
	return &viaShoutrrr{name: c.Name, url: func() *url.URL { return u }, busy: make(chan struct{}, 1)}
}

// String names the channel and keeps its URL back.
func (s *viaShoutrrr) String() string { return fmt.Sprintf("shoutrrr channel %q", s.name) }

// Send sends m as text. The library takes no context: a try that takes too long goes
// on without anybody who waits, and counts as failed.
func (s *viaShoutrrr) Send(ctx context.Context, m message.Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return &SendError{Text: "the try before still hangs"}
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-s.busy }()
		done <- s.send(m)
	}()
	select {
	case err := <-done:
		if err != nil {
			return &SendError{Text: mask(err, s.url())}
		}
		return nil
	case <-ctx.Done():
		return &SendError{Text: noAnswer}
	}
}

// silent is a logger that keeps the library's words, which may hold the URL, out of
// the log.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func (s *viaShoutrrr) send(m message.Message) error {
	sender, err := shoutrrr.NewSender(silent{}, s.url().String())
	if err != nil {
		return err
	}
	params := types.Params{"title": m.Title()}
	return errors.Join(sender.Send(m.String(), &params)...)
}
