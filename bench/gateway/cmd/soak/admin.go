package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// admin talks to the gateway's admin port.
type admin struct {
	url    string
	client *http.Client
}

func newAdmin(url string) *admin {
	return &admin{url: url, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}}
}

// send sends JSON, or nothing if body is nil, and returns the status with the
// answer's body.
func (a *admin) send(ctx context.Context, method, path string, body any) (int, []byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, bytes.TrimSpace(answer), err
}

// states are those of all dependencies, by ID.
func (a *admin) states(ctx context.Context) (map[string]string, error) {
	status, text, err := a.send(ctx, http.MethodGet, "/api/v1/dependencies", nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("states: status %d: %s", status, text)
	}
	var list struct{ Dependencies []struct{ ID, State string } }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	states := map[string]string{}
	for _, d := range list.Dependencies {
		states[d.ID] = d.State
	}
	return states, nil
}

// metrics are the values of these series, which have no labels.
func (a *admin) metrics(ctx context.Context, names ...string) (map[string]float64, error) {
	status, text, err := a.send(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("metrics: status %d: %s", status, text)
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, wanted := range names {
			if name == wanted {
				if values[name], err = strconv.ParseFloat(value, 64); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(values) < len(names) {
		return nil, fmt.Errorf("metrics: not all of %v are there", names)
	}
	return values, nil
}

// readSlowly reads the stream of events a few bytes at a time, as a browser on a
// bad line does, and begins again when it is cut off.
func (a *admin) readSlowly(ctx context.Context) {
	for ctx.Err() == nil {
		a.readOnce(ctx)
		town.Wait(ctx, time.Second)
	}
}

func (a *admin) readOnce(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/api/v1/stream", http.NoBody)
	if err != nil {
		return
	}
	response, err := (&http.Client{Transport: &http.Transport{ReadBufferSize: 1, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	some := make([]byte, 64)
	for town.Wait(ctx, 500*time.Millisecond) {
		if _, err := response.Body.Read(some); err != nil {
			return
		}
	}
}
