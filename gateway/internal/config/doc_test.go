package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const docFile = "../../../docs/CONFIG.md"

// part is a mapping of a file by its heading in the document.
type part struct {
	heading string
	keys    []key
	file    string // that is good with any key of it at %s
}

func parts() []part {
	const (
		dependencies = "dependencies: { a: { url: http://a.example } }\n"
		routes       = "routes: [ { path: /*, dependency: a } ]\n"
	)
	c := withDefaults("recloser.yaml")
	d := dependencyDefaults()
	all := []part{
		{"The file", c.keys(), dependencies + routes + "%s\n"},
		{"admin", nil, dependencies + routes + "admin: { %s }\n"},
		{"limits", nil, dependencies + routes + "limits: { %s }\n"},
		{"defaults", nil, dependencies + routes + "defaults: { %s }\n"},
		{"alerts", nil, dependencies + routes + "alerts: { %s }\n"},
		{"traces", nil, dependencies + routes + "traces: { endpoint: 'http://127.0.0.1:4318', %s }\n"},
		{"store", nil, dependencies + routes + "store: { \"redis\": 'redis://localhost', %s }\n"},
		{"fleet", nil, dependencies + routes + "fleet: { %s }\n"},
		{"tls", nil, dependencies + routes + "tls: { cert: c.crt, key: c.key, %s }\n"},
		{"dependencies", dependencyKeys(&d), "dependencies: { a: { url: http://a.example, %s } }\n" + routes},
		{"routes", c.routeKeys(&Route{ReleaseOnTrip: true}), dependencies + "routes: [ { path: '/{dependency}/*', %s } ]\n"},
	}
	for _, k := range []ChannelKind{Teams, Slack, Webhook, Alertmanager, Shoutrrr} {
		all = append(all, part{
			"alerts." + string(k), (&Channel{Kind: k}).keys(), dependencies + routes + "alerts: { " + string(k) + ": [ { url: 'https://hook.example', %s } ] }\n",
		})
	}
	for _, in := range []struct{ heading, of, key, file string }{
		{"breaker", "dependencies", "breaker", "dependencies: { a: { url: http://a.example, breaker: { %s } } }\n" + routes},
		{"probe", "dependencies", "probe", "dependencies: { a: { url: http://a.example, probe: { path: /ping, %s } } }\n" + routes},
		{"retry", "dependencies", "retry", "dependencies: { a: { url: http://a.example, retry: { attempts: 2, %s } } }\n" + routes},
		{"rate_limit", "dependencies", "rate_limit", "dependencies: { a: { url: http://a.example, rate_limit: { rate: 50/s, %s } } }\n" + routes},
		{"key", "dependencies", "key", "dependencies: { a: { url: http://a.example, key: { header: X-Property, %s } } }\n" + routes},
		{"ask", "routes", "ask", dependencies + "routes: [ { path: /a, ask: { accept: 'true', %s } } ]\n"},
		{"routes.rate_limit", "routes", "rate_limit", dependencies + "routes: [ { path: /*, dependency: a, rate_limit: { rate: 50/s, %s } } ]\n"},
		{"last_known", "routes", "last_known", dependencies + "routes: [ { path: /*, dependency: a, last_known: { for: 10m, %s } } ]\n"},
	} {
		of := all[slices.IndexFunc(all, func(p part) bool { return p.heading == in.of })]
		all = append(all, part{in.heading, inside(of.keys, in.key), in.file})
	}
	for i, p := range all {
		if p.keys == nil {
			all[i].keys = inside(c.keys(), p.heading)
		}
	}
	return all
}

// table is what the document says of the keys.
func table(p part) string {
	var b strings.Builder
	b.WriteString("| key | type | default | range | means |\n|---|---|---|---|---|\n")
	for _, k := range p.keys {
		fallback, means := k.normal, k.means
		if text, ok := k.defaultText(); ok && fallback == "" {
			if k.value.kind == "address" {
				text = strconv.Quote(text)
			}
			fallback = "`" + text + "`"
		}
		if k.needed {
			fallback = "required"
		}
		if p.heading == "dependencies" && slices.ContainsFunc(defaultsKeys(new(Dependency)), func(d key) bool { return d.name == k.name }) {
			fallback = "that of `defaults`"
			if k.means[len(k.means)-1] != ')' { // it leads to no table of its own
				means = "see [defaults](#defaults)"
			}
		}
		if k.restart {
			means += " (restart)"
		}
		fmt.Fprintln(&b, regexp.MustCompile(` +\|`).ReplaceAllString(fmt.Sprintf("| `%s` | %s | %s | %s | %s |", k.name, k.value.kind, fallback, k.span, means), " |"))
	}
	return b.String()
}

// The tables of the document are what the code says.
func TestDocumentHasEveryKey(t *testing.T) {
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, p := range parts() {
		old := regexp.MustCompile(`(?s)(\n## ` + regexp.QuoteMeta(p.heading) + `\n(?:[^#\n][^\n]*\n|\n)*?)(\| key \|[^\n]*\n(?:\|[^\n]*\n)+)`)
		m := old.FindStringSubmatchIndex(text)
		if m == nil {
			t.Errorf("the document has no table under ## %s", p.heading)
			continue
		}
		if got, want := text[m[4]:m[5]], table(p); got != want && !*update {
			t.Errorf("%s: run go test -update; the document has\n%s\nand the code\n%s", p.heading, got, want)
		}
		text = text[:m[4]] + table(p) + text[m[5]:]
	}
	if *update && text != string(data) {
		if err := os.WriteFile(docFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// docRow is one key as the document describes it.
type docRow struct{ key, kind, fallback, span string }

// document returns the rows below each heading, and the blocks of YAML.
func document(t *testing.T) (rows map[string][]docRow, examples []string) {
	t.Helper()
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	rows = make(map[string][]docRow)
	heading := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = title
		}
		if cells := strings.Split(strings.Trim(line, "|"), "|"); len(cells) == 5 && strings.Contains(cells[0], "`") {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows[heading] = append(rows[heading], docRow{strings.Trim(cells[0], "`"), cells[1], cells[2], cells[3]})
		}
	}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		examples = append(examples, m[1])
	}
	return rows, examples
}

// values returns what stands in backquotes.
func values(cell string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// A default that is written out changes nothing, the values that a range names
// are taken, and one past its end is not; off is taken where it is listed only.
func TestDocumentTellsDefaultsAndRanges(t *testing.T) {
	rows, _ := document(t)
	defaults, ranges := 0, 0
	for _, p := range parts() {
		heading := p.heading
		for _, r := range rows[heading] {
			file := regexp.MustCompile(`\b`+r.key+`: [^ ]+, %s`).ReplaceAllString(p.file, "%s")
			parse := func(value string) (*Config, error) {
				return Parse("x.yaml", fmt.Appendf(nil, file, r.key+": "+value))
			}
			unset, err := Parse("x.yaml", fmt.Appendf(nil, file, ""))
			if err != nil && r.fallback != "required" {
				t.Fatal(heading, err)
			}
			if m := regexp.MustCompile("^`([^`]+)`($|[:;,])").FindStringSubmatch(r.fallback); m != nil {
				defaults++
				set, err := parse(m[1])
				if err != nil {
					t.Errorf("%s: the default of %s: %v", heading, r.key, err)
				} else if got, want := effect(set, heading, r.key), effect(unset, heading, r.key); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the default of %s is said to be %s, which is\n%+v, and it is\n%+v", heading, r.key, m[1], got, want)
				}
			}
			if !slices.Contains([]string{"duration", "share", "number", "address", "word", "rate", "size"}, r.kind) {
				continue
			}
			taken := values(r.span)
			for _, v := range taken {
				if v == "timeout" || v == "open_for" || v == "backoff" { // another key, not a value
					continue
				}
				ranges++
				if _, err := parse(v); err != nil && !strings.Contains(err.Error(), "must be at least open_for") {
					t.Errorf("%s: %s is in the range of %s: %v", heading, v, r.key, err)
				}
			}
			if _, err := parse("off"); (err == nil) != slices.Contains(taken, "off") {
				t.Errorf("%s: %s off: %v, and its range is %s", heading, r.key, err, r.span)
			}
			if m := regexp.MustCompile("to `([0-9][0-9A-Za-z%/]*)`").FindStringSubmatch(r.span); m != nil {
				if _, err := parse(double(t, m[1])); err == nil {
					t.Errorf("%s: %s may be above %s", heading, r.key, m[1])
				}
			}
		}
	}
	if defaults < 45 || ranges < 60 {
		t.Errorf("found %d defaults and %d ends of ranges: the patterns are wrong", defaults, ranges)
	}
}

// effect is what a key may change: its own field of a breaker, where one key
// may move the default of another, else the whole config.
func effect(c *Config, heading, key string) any {
	if heading == "breaker" {
		for _, s := range c.Show() {
			if s.Path == "dependencies.a.breaker."+key {
				return s.Value
			}
		}
	}
	all := *c
	all.origins = nil
	all.Routes = slices.Clone(c.Routes)
	for i, r := range all.Routes {
		if r.Ask != nil {
			ask := *r.Ask
			ask.Condition = nil // a new one each time
			all.Routes[i].Ask = &ask
		}
	}
	return all
}

func double(t *testing.T, value string) string {
	t.Helper()
	m := regexp.MustCompile(`^(\d+)(\D*)$`).FindStringSubmatch(value)
	if m == nil {
		t.Fatal(value)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(2*n) + m[2]
}

// The examples can be used as they are, and the last one has every key.
func TestDocumentExamples(t *testing.T) {
	for _, name := range []string{"TEAMS_WEBHOOK", "SLACK_WEBHOOK", "WEBHOOK_SECRET", "MAIL_URL", "PAGER_URL", "OTLP_TOKEN"} {
		t.Setenv(name, teamsURL)
	}
	rows, examples := document(t)
	t.Chdir(t.TempDir())
	write(t, "hotels/aurora.yaml", "dependencies: { aurora: { url: http://aurora.example } }\n")
	if len(examples) < 2 {
		t.Fatalf("%d examples", len(examples))
	}
	for i, example := range examples {
		c, err := Parse("CONFIG.md", []byte(example))
		if err != nil {
			faults, _ := errors.AsType[Errors](err)
			t.Fatalf("example %d: %s", i+1, faults.Detail())
		}
		if len(c.Warnings) > 0 {
			t.Errorf("example %d: warnings %q", i+1, c.Warnings)
		}
	}
	for _, heading := range slices.Sorted(maps.Keys(rows)) {
		for _, r := range rows[heading] {
			if !regexp.MustCompile(`\b` + r.key + `:`).MatchString(examples[len(examples)-1]) {
				t.Errorf("the whole example lacks %s of %s", r.key, heading)
			}
		}
	}
}
