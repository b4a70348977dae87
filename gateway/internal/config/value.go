package config

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser/internal/suggest"
)

var numberAndWord = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([\pL]*)\.?$`)

// durationHint turns what people write for a duration into what is read.
func durationHint(s string) string {
	const general = "write a number and a unit, such as 5s, 300ms or 1h30m"
	m := numberAndWord.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return general
	}
	number, word := m[1], strings.ToLower(m[2])
	switch {
	case word != "":
	case len(number) > 9:
		return general
	case len(number) >= 3 && !strings.Contains(number, "."): // milliseconds, more likely than not
		return fmt.Sprintf("write a unit, such as %sms or %ss", number, number)
	default:
		return fmt.Sprintf("write a unit, such as %ss", number)
	}
	words := []struct {
		unit  string
		names []string
	}{
		{"ms", []string{"ms", "msec", "msecs", "millisecond", "milliseconds", "millis"}},
		{"s", []string{"s", "sec", "secs", "second", "seconds"}},
		{"m", []string{"m", "min", "mins", "minute", "minutes"}},
		{"h", []string{"h", "hr", "hrs", "hour", "hours"}},
	}
	for _, w := range words {
		if slices.Contains(w.names, word) {
			meant := number + w.unit
			if _, err := time.ParseDuration(meant); err != nil {
				return "it is longer than can be counted: write less than 2562047h"
			}
			return "write " + meant
		}
	}
	if days, err := strconv.Atoi(number); err == nil && days <= 366 && slices.Contains([]string{"d", "day", "days"}, word) {
		return fmt.Sprintf("write %dh", 24*days)
	}
	return general
}

func boolean(to *bool) value {
	return scalar("`true`, `false`", object{"type": "boolean"}, func(r *reader, n ast.Node, s string) {
		if s != "true" && s != "false" {
			r.fault(n, "", "write true or false, not %q", s)
			return
		}
		*to = s == "true"
	}, func() string { return strconv.FormatBool(*to) })
}

// line is a text of one line.
func line(to *string) value {
	return scalar("text", object{"type": "string", "minLength": 1}, func(r *reader, n ast.Node, s string) {
		if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' }) {
			r.fault(n, "write a text of one line", "the text is empty or has control characters")
			return
		}
		*to = s
	}, func() string { return *to })
}

// choice is one of several words.
func choice[T ~string](to *T, of ...T) value {
	return scalar("word", object{"enum": of}, func(r *reader, n ast.Node, s string) {
		if !slices.Contains(of, T(s)) {
			r.fault(n, suggest.DidYouMean(s, func(yield func(string) bool) {
				for _, o := range of {
					if !yield(string(o)) {
						return
					}
				}
			}), "%s cannot be %q", r.key, s)
			return
		}
		*to = T(s)
	}, func() string { return string(*to) })
}

// filePath is the path of a file, seen from the folder of the config.
func filePath(to *string) value {
	v := line(to)
	v.kind = "file"
	read := v.read
	v.read = func(r *reader, n ast.Node) {
		read(r, n)
		*to = r.besides(*to)
	}
	return v
}

// besides returns where a path of the file leads.
func (r *reader) besides(path string) string {
	if path == "" || filepath.IsAbs(path) || r.override {
		return path
	}
	return filepath.Join(filepath.Dir(r.file), path)
}

// items is a list of single values.
func items[T any](kind string, schema object, to *[]T, parse func(r *reader, n ast.Node, text string) (T, bool), text func(T) string) value {
	return value{
		kind:   kind,
		schema: func() object { return object{"type": "array", "items": schema, "minItems": 1} },
		read: func(r *reader, n ast.Node) {
			all := r.list(n)
			if s, ok := n.(*ast.SequenceNode); ok && len(s.Values) == 0 {
				r.fault(n, "write at least one item or remove the key", "the list is empty")
			}
			*to = nil
			for _, item := range all {
				if text, ok := r.text(item); ok {
					if v, ok := parse(r, item, text); ok {
						*to = append(*to, v)
					}
				}
			}
		},
		show: func(path string, put put) {
			var all []string
			for _, v := range *to {
				all = append(all, text(v))
			}
			if len(all) > 0 {
				put(leaf{path: path, text: "[" + strings.Join(all, ", ") + "]"})
			}
		},
	}
}

const headerPattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

var headerName = regexp.MustCompile(headerPattern)

// header reads the name of a request's header.
func header(r *reader, n ast.Node, s string) (string, bool) {
	if !headerName.MatchString(s) {
		r.fault(n, "write it like X-Property", "%q cannot be the name of a header", s)
		return "", false
	}
	return http.CanonicalHeaderKey(s), true
}
