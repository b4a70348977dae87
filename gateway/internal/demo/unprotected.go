package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// direct is a turnstile without Recloser: a plain client that calls the
// hotels and waits.
type direct struct {
	client *http.Client
	hotels []*process
}

func (d direct) scan(ctx context.Context, hotel int, query url.Values) (result, bool) {
	allowed, err := d.call(ctx, d.hotels[hotel-1], "scan", query)
	if err != nil {
		return failed, false
	}
	return answered, allowed
}

// ask calls all hotels and waits for a yes or for all of them.
func (d direct) ask(ctx context.Context, query url.Values) (result, bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		allowed bool
		err     error
	}
	answers := make(chan answer, len(d.hotels))
	for _, h := range d.hotels {
		go func() {
			allowed, err := d.call(ctx, h, "access", query)
			answers <- answer{allowed, err}
		}()
	}
	r := no
	for range d.hotels {
		switch a := <-answers; {
		case a.err != nil:
			r = unknown
		case a.allowed:
			return yes, true
		}
	}
	return r, false
}

func (d direct) call(ctx context.Context, h *process, path string, query url.Values) (allowed bool, err error) {
	target := h.url.JoinPath(path)
	target.RawQuery = query.Encode()
	var answer access
	status, _, err := get(ctx, d.client, target, &answer)
	if err != nil {
		return false, err
	}
	if status != http.StatusOK {
		return false, fmt.Errorf("the hotel answered %d", status)
	}
	return answer.Allowed, nil
}
