package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/prombreaker"
)

// guide is what docs/GATEWAY.md tells callers and operators.
const guide = "../docs/GATEWAY.md"

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each answer that the guide shows is written as the gateway writes it: no field
// that does not exist, and the tables name every field that does.
func TestGuideShowsAnswers(t *testing.T) {
	shown := blocks(t, guide, "json")
	answers := []any{&problem.Problem{}, &ask.Result{}}
	if len(shown) != len(answers) {
		t.Fatalf("%d answers are shown, want %d", len(shown), len(answers))
	}
	for i, answer := range answers {
		strict := json.NewDecoder(strings.NewReader(shown[i]))
		strict.DisallowUnknownFields()
		if err := strict.Decode(answer); err != nil {
			t.Errorf("%s\n%v", shown[i], err)
			continue
		}
		written, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(shown[i])); err != nil {
			t.Fatal(err)
		}
		if got, want := compact.String(), string(written); got != want {
			t.Errorf("shown\n%s\nwritten\n%s", got, want)
		}
	}
	text := readGuide(t)
	for _, of := range []reflect.Type{reflect.TypeFor[ask.Result](), reflect.TypeFor[ask.Member]()} {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !regexp.MustCompile("(?m)^\\| .*`" + name + "`.* \\|").MatchString(text) {
				t.Errorf("%s of %s is not described", name, of)
			}
		}
	}
	for _, outcome := range []ask.Outcome{ask.SaidYes, ask.SaidNo, ask.Failed, ask.Refused, ask.TimedOut, ask.Released, ask.Pending} {
		if !strings.Contains(text, "`"+string(outcome)+"`") {
			t.Errorf("the result %s is not described", outcome)
		}
	}
	for _, reason := range append(recloser.RefusalReasons(), problem.Failed, problem.Timeout) {
		if !strings.Contains(text, "`"+string(reason)+"`") {
			t.Errorf("the reason %s is not described", reason)
		}
	}
}

// The calls of curl that the guide shows do what it says to the gateway that
// README configures.
func TestGuideCallsWork(t *testing.T) {
	yaml, _ := readmeConfig(t)
	c, err := config.Parse("README.md", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Admin.Listen, c.Storage.Path = "127.0.0.1:0", "127.0.0.1:0", ""
	g, err := gateway.New(gateway.Options{Config: c, Load: func() (*config.Config, error) { return c, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) //nolint:usetesting // t.Context is done by now
		defer cancel()
		if err := g.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	aurora, _ := g.Dependencies().Get("aurora")

	shell := strings.ReplaceAll(strings.Join(blocks(t, guide, "sh"), ""), "\\\n", "")
	var states []string
	for _, line := range regexp.MustCompile(`(?m)^curl .*$`).FindAllString(shell, -1) {
		resp, err := http.DefaultClient.Do(request(t, line, g.AdminAddr()))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			t.Errorf("%s\n%d %s", line, resp.StatusCode, body)
		}
		states = append(states, aurora.Breaker.State().String())
	}
	want := []string{"isolated", "half-open", "half-open", "half-open"}
	for range 9 {
		want = append(want, "closed")
	}
	if !slices.Equal(states, want) {
		t.Errorf("aurora was %q after the calls, want %q", states, want)
	}
}

// request makes the request that a call of curl would.
func request(t *testing.T, curl, addr string) *http.Request {
	t.Helper()
	part := func(pattern string) string {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(curl); m != nil {
			return m[1]
		}
		return ""
	}
	method := part(`-X ([A-Z]+)`)
	switch {
	case method != "":
	case strings.Contains(curl, " -d "):
		method = http.MethodPost
	default:
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method,
		"http://"+addr+part(`http://127\.0\.0\.1:8081([^\s']*)`), strings.NewReader(part(`-d '([^']*)'`)))
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(part(`-H '([^']*)'`), ": "); ok {
		req.Header.Set(name, value)
	}
	return req
}

// The guide names every metric of breakers and of the gateway, and no other.
func TestGuideNamesEveryMetric(t *testing.T) {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		prombreaker.New(slices.Values([]*recloser.Breaker{})).Describe(descs)
	}()
	var want []string
	for d := range descs {
		want = append(want, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	for _, file := range []string{"metrics.go", "fleet.go"} { // a scrape has only those that there is something to say of
		source, err := os.ReadFile("internal/admin/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`metric\("([a-z_]+)"`).FindAllSubmatch(source, -1) {
			want = append(want, "recloser_"+string(m[1]))
		}
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(recloser_[a-z_]+)`").FindAllStringSubmatch(readGuide(t), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the guide has\n%q\nand there are\n%q", got, want)
	}
}
