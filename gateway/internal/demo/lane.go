package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// turnstile is how a lane finds out whether a guest may enter. Both ways give
// up with the client's timeout, and only an explicit yes lets a guest in.
type turnstile interface {
	// scan asks the guest's own hotel.
	scan(ctx context.Context, hotel int, query url.Values) (r result, letIn bool)
	// ask asks all hotels for a guest whose hotel is not known.
	ask(ctx context.Context, query url.Values) (r result, letIn bool)
}

// lane is one way to the same twelve hotels, and what became of its guests.
type lane struct {
	hotels    []*process // hotel n is at n-1
	turnstile turnstile
	visits    *visits // of the outage that is played
}

// receive takes one guest through the turnstile. The wait counts from when the
// guest was due, so a demo that is late does not look fast.
func (l *lane) receive(ctx context.Context, c clock, v visit, g guest) {
	v.sent = c.now()
	n := l.visits.begin(v)
	query := url.Values{"guest": {string(g)}, "at": {stamp(c.at(v.sent))}}
	var r result
	var letIn bool
	if v.ask {
		r, letIn = l.turnstile.ask(ctx, query)
	} else {
		r, letIn = l.turnstile.scan(ctx, v.hotel, query)
	}
	l.visits.end(n, c.now(), r, letIn)
}

// get makes one call and reads its JSON answer, whatever its status.
func get(ctx context.Context, client *http.Client, target *url.URL, answer any) (status int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return 0, nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body) // so that the connection is kept
	return resp.StatusCode, resp.Header, err
}

// newClient returns a client that waits as long as the turnstiles do.
func newClient() *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: scansPerSecond}
	return &http.Client{Transport: transport, Timeout: clientTimeout}
}
