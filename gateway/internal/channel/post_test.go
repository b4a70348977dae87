package channel

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// G18: what the hook accepts is accepted, and what it says otherwise is understood.
func TestG18Answers(t *testing.T) {
	const oops = "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429"
	for name, c := range map[string]struct {
		code      int
		body      string
		after     string
		accepted  bool
		permanent bool
		address   bool
		wait      time.Duration
	}{
		"202 with nothing": {code: 202, accepted: true},
		"200 with 1":       {code: 200, body: "1", accepted: true},
		"200 with ok":      {code: 200, body: "ok", accepted: true},
		"204":              {code: 204, accepted: true},
		"429 and a time":   {code: 429, after: "10", wait: 10 * time.Second},
		"429 without":      {code: 429},
		"503 and a time":   {code: 503, after: "7", wait: 7 * time.Second},
		"500":              {code: 500, body: hook},
		"408":              {code: 408},
		"400":              {code: 400, body: "no such trigger: " + hook, permanent: true},
		"404":              {code: 404, address: true},
		"401":              {code: 401, address: true},
		"422":              {code: 422, permanent: true},
		"410":              {code: 410, address: true},
		"302":              {code: 302, address: true},
		"304":              {code: 304, address: true},
		"600":              {code: 600},
		"an endless body":  {code: 200, body: strings.Repeat("x", 1<<20), accepted: true},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Retry-After", c.after)
				if c.after == "" {
					w.Header().Del("Retry-After")
				}
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			for _, kind := range kinds {
				err := New(config.Channel{Kind: kind, Name: "ops", URL: config.Secret(srv.URL + "/" + secret)}, nil).Send(t.Context(), trip())
				refused, _ := errors.AsType[*SendError](err)
				switch {
				case (err == nil) != c.accepted:
					t.Errorf("%s: %v", kind, err)
				case err != nil && (refused == nil || refused.Permanent != c.permanent || refused.Address != c.address || refused.Wait != c.wait || !strings.Contains(err.Error(), fmt.Sprint(c.code))):
					t.Errorf("%s: %+v", kind, err)
				case err != nil:
					checkSecret(t, err.Error(), "")
				}
			}
		})
	}
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(oops))}, nil
	})}
	if err := New(config.Channel{Kind: config.Teams, URL: hook}, client).Send(t.Context(), trip()); err == nil {
		t.Error("an error of Teams in a 200 was taken for good")
	}
}

// One that takes the request and never answers holds nobody for more than 10 s.
func TestHangIsCutAfter10s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for _, kind := range kinds {
			begin := time.Now()
			err := New(config.Channel{Kind: kind, URL: hook}, &http.Client{Transport: hang}).Send(t.Context(), trip())
			if took := time.Since(begin); err == nil || took != 10*time.Second {
				t.Errorf("%s: %v after %v", kind, err, took)
			}
		}
	})
}

// received sends a message and returns the request.
func received(t *testing.T, c config.Channel, m message.Message) (*http.Request, []byte) {
	t.Helper()
	var got *http.Request
	var body []byte
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		body, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: 202, Body: http.NoBody}, nil
	})}
	if c.URL == "" {
		c.URL = hook
	}
	if err := New(c, client).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return got, body
}

func TestWebhookSendsASignedCloudEvent(t *testing.T) {
	m := trip()
	r, body := received(t, config.Channel{Kind: config.Webhook, Key: secret}, m)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/cloudevents+json") {
		t.Errorf("Content-Type %q", kind)
	}
	var at int64
	var sum string
	if _, err := fmt.Sscanf(strings.Replace(r.Header.Get(SignatureHeader), ",", " ", 1), "t=%d v1=%s", &at, &sum); err != nil {
		t.Fatal(r.Header, err)
	}
	if want := Sign([]byte(secret), time.Unix(at, 0), body); !hmac.Equal([]byte(want), []byte(r.Header.Get(SignatureHeader))) {
		t.Errorf("signature %q, want %q", r.Header.Get(SignatureHeader), want)
	}
	if Sign([]byte("another"), time.Unix(at, 0), body) == r.Header.Get(SignatureHeader) || Sign([]byte(secret), time.Unix(at, 0), append(body, ' ')) == r.Header.Get(SignatureHeader) {
		t.Error("the signature signs nothing")
	}
	var e struct {
		SpecVersion, ID, Source, Type, Subject, DataContentType string
		Time                                                    time.Time
		Data                                                    struct {
			Title, Kind string
			Of          int
			Items       []struct {
				Dependency, Key, State string
				Why                    struct{ Reason, Cause string }
			}
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	if e.SpecVersion != "1.0" || e.ID != m.ID || e.Source != "https://recloser.example" || e.Type != "recloser.alert.started" ||
		e.Subject != "hotel-3" || e.DataContentType != "application/json" || !e.Time.Equal(start) {
		t.Errorf("%+v", e)
	}
	if d := e.Data; d.Kind != "started" || d.Of != 12 || len(d.Items) != 1 || d.Items[0].Key != "hotel-3@1" || d.Items[0].State != "open" || d.Items[0].Why.Reason != "run" {
		t.Errorf("%+v", d)
	}

	r, _ = received(t, config.Channel{Kind: config.Webhook}, m)
	if r.Header.Get(SignatureHeader) != "" {
		t.Error("signed without a secret")
	}
}

// The vector for whoever writes the other side.
func TestSignature(t *testing.T) {
	const want = "t=1796069242,v1=e7b77826faaa966dd317324bb959901f2a923f681780b30fd86a13dd502a7aea"
	got := Sign([]byte("key"), time.Unix(1796069242, 0), []byte(`{"specversion":"1.0"}`))
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Slack reads markup in sections, and nothing of others may be any.
func TestSlackForeignTextIsNoMarkup(t *testing.T) {
	for _, m := range uglyMessages() {
		_, body := received(t, config.Channel{Kind: config.Slack}, m)
		var s struct {
			Text   string
			Blocks []block
		}
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Blocks) > 50 || s.Blocks[0].Type != "header" || s.Blocks[0].Text.Type != "plain_text" || len([]rune(s.Blocks[0].Text.Text)) > 150 {
			t.Errorf("%s: %d blocks, %+v", m.Kind, len(s.Blocks), s.Blocks[0].Text)
		}
		text := s.Text
		for _, b := range s.Blocks[1:] {
			if b.Type == "section" {
				text += b.Text.Text
				if len([]rune(b.Text.Text)) > 3000 {
					t.Errorf("%s: a section of %d characters", m.Kind, len(b.Text.Text))
				}
			}
		}
		for _, bad := range []string{"<b>", "<https", "*evil", "_*evil", "{{DATE"} {
			if strings.Contains(text, bad) && bad != "{{DATE" {
				t.Errorf("%s: %q in %q", m.Kind, bad, text)
			}
		}
	}
	long := strings.Repeat("<", 5000)
	m := trip()
	for range 200 {
		m.Items = append(m.Items, m.Items[0])
	}
	m.Items[0].Name = long
	if raw, err := Blocks(m); err != nil || !strings.Contains(string(raw), " more") {
		t.Errorf("%s %v", raw, err)
	}
	m.Items = m.Items[:1]
	m.Items[0].Why.Cause, m.Items[0].Why.By, m.Items[0].Why.Note = long, long, long
	if _, err := Blocks(m); err != nil {
		t.Error(err)
	}
}
