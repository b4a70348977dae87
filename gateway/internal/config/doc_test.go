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
	"time"
)

const docFile = "../../../docs/CONFIG.md"

// sections are the mappings of a file by their headings in the document, each
// as a file that is good with any key of it at %s.
var sections = map[string]string{
	"The file":     "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\n%s\n",
	"admin":        "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\nadmin: { %s }\n",
	"defaults":     "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\ndefaults: { %s }\n",
	"dependencies": "dependencies: { a: { url: http://a.example, %s } }\nroutes: [ { path: /*, dependency: a } ]\n",
	"breaker":      "dependencies: { a: { url: http://a.example, breaker: { %s } } }\nroutes: [ { path: /*, dependency: a } ]\n",
	"routes":       "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: '/{dependency}/*', %s } ]\n",
	"ask":          "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /a, ask: { accept: 'true', %s } } ]\n",
	"alerts":       "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\nalerts: { %s }\n",
	"alerts.teams": "dependencies: { a: { url: http://a.example } }\nroutes: [ { path: /*, dependency: a } ]\nalerts: { teams: [ { url: 'https://hook.example', %s } ] }\n",
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

// The document has the keys that a message about an unknown one tells of, no
// more and no fewer.
func TestDocumentHasEveryKey(t *testing.T) {
	rows, _ := document(t)
	for heading, file := range sections {
		_, err := Parse("x.yaml", fmt.Appendf(nil, file, "zzzzzz: 1"))
		if err == nil {
			t.Fatalf("%s: an unknown key is taken", heading)
		}
		_, known, ok := strings.Cut(err.Error(), "known are ")
		if !ok {
			t.Fatalf("%s: %v", heading, err)
		}
		var told []string
		for _, r := range rows[heading] {
			told = append(told, r.key)
		}
		slices.Sort(told)
		if got, want := strings.Join(told, ", "), known; got != want {
			t.Errorf("%s: the document has\n%s\nand the parser\n%s", heading, got, want)
		}
	}
	for heading := range rows {
		if _, ok := sections[heading]; !ok {
			t.Errorf("the test does not know the section %s", heading)
		}
	}
}

// A default that is written out changes nothing, the values that a range names
// are taken, and one past its end is not; off is taken where it is listed only.
func TestDocumentTellsDefaultsAndRanges(t *testing.T) {
	rows, _ := document(t)
	defaults, ranges := 0, 0
	for heading, file := range sections {
		parse := func(key, value string) (*Config, error) {
			return Parse("x.yaml", fmt.Appendf(nil, file, key+": "+value))
		}
		unset, err := Parse("x.yaml", fmt.Appendf(nil, file, ""))
		if err != nil {
			t.Fatal(heading, err)
		}
		for _, r := range rows[heading] {
			if m := regexp.MustCompile("^`([^`]+)`($|[:;,])").FindStringSubmatch(r.fallback); m != nil {
				defaults++
				set, err := parse(r.key, m[1])
				if err != nil {
					t.Errorf("%s: the default of %s: %v", heading, r.key, err)
				} else if got, want := effect(set, heading, r.key), effect(unset, heading, r.key); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the default of %s is said to be %s, which is\n%+v, and it is\n%+v", heading, r.key, m[1], got, want)
				}
			}
			if !slices.Contains([]string{"duration", "share", "number", "address", "word"}, r.kind) {
				continue
			}
			taken := values(r.span)
			for _, v := range taken {
				if v == "timeout" || v == "open_for" { // another key, not a value
					continue
				}
				ranges++
				if _, err := parse(r.key, v); err != nil && !strings.Contains(err.Error(), "must be at least open_for") {
					t.Errorf("%s: %s is in the range of %s: %v", heading, v, r.key, err)
				}
			}
			if _, err := parse(r.key, "off"); (err == nil) != slices.Contains(taken, "off") {
				t.Errorf("%s: %s off: %v, and its range is %s", heading, r.key, err, r.span)
			}
			if m := regexp.MustCompile("to `([0-9][0-9a-z%]*)`").FindStringSubmatch(r.span); m != nil {
				if _, err := parse(r.key, double(t, m[1])); err == nil {
					t.Errorf("%s: %s may be above %s", heading, r.key, m[1])
				}
			}
		}
	}
	if defaults < 20 || ranges < 25 {
		t.Errorf("found %d defaults and %d ends of ranges: the patterns are wrong", defaults, ranges)
	}
}

// effect is what a key may change: its own field of a breaker, where one key
// may move the default of another, else the whole config.
func effect(c *Config, heading, key string) any {
	settings := c.Dependencies[0].Settings.WithDefaults()
	if heading == "breaker" {
		for _, s := range settingsOf(&settings) {
			if s.key == key {
				return reflect.ValueOf(s.to).Elem().Interface()
			}
		}
	}
	all := *c
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
	if d, err := time.ParseDuration(value); err == nil {
		return (2 * d).String()
	}
	number, percent := strings.CutSuffix(value, "%")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if percent {
		return fmt.Sprint(2*n, "%")
	}
	return strconv.Itoa(2 * n)
}

// The examples can be used as they are, and the last one has every key.
func TestDocumentExamples(t *testing.T) {
	t.Setenv("TEAMS_WEBHOOK", teamsURL)
	rows, examples := document(t)
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
