package town

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Visit makes one call to a hotel through a gateway.
func Visit(client *http.Client, url string) Call {
	var c Call
	response, err := client.Get(url)
	if err != nil {
		return c
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return c
	}
	c.OK = response.StatusCode == http.StatusOK
	c.Ours = response.StatusCode >= 500 && response.Header.Get(By) == ""
	return c
}

// AskGateway lets the gateway ask all hotels: one request. A certain answer, yes or
// no, is OK.
func AskGateway(client *http.Client, url string) Call {
	var c Call
	response, err := client.Get(url)
	if err != nil {
		return c
	}
	defer response.Body.Close()
	var answer struct {
		Answer  string
		Members []struct{ Dependency, Result string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return c
	}
	c.OK = answer.Answer == "yes" || answer.Answer == "no"
	c.Ours = !c.OK
	for _, m := range answer.Members {
		if !c.OK && m.Result != "yes" && m.Result != "no" {
			c.Names = append(c.Names, m.Dependency)
		}
	}
	return c
}

// AskEach asks each hotel by a call of its own through a gateway that knows no
// asks, all at once. The first yes decides; who has not answered after timeout
// was not heard.
func AskEach(client *http.Client, urls map[string]string, timeout time.Duration) Call {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	type answer struct {
		id         string
		heard, yes bool
	}
	answers := make(chan answer, len(urls)) // none may wait for a reader who has left
	for id, url := range urls {
		go func() {
			yes, err := allowed(ctx, client, url)
			answers <- answer{id, err == nil, yes}
		}()
	}
	var c Call
	for range urls {
		switch a := <-answers; {
		case a.yes:
			return Call{OK: true}
		case !a.heard:
			c.Names = append(c.Names, a.id)
		}
	}
	c.OK = len(c.Names) == 0
	c.Ours = !c.OK
	return c
}

func allowed(ctx context.Context, client *http.Client, url string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %d", response.StatusCode)
	}
	var body struct{ Allowed bool }
	err = json.NewDecoder(response.Body).Decode(&body)
	return body.Allowed, err
}
