package panel

import (
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// functions are what templates can use.
func functions(a *assets) template.FuncMap {
	return template.FuncMap{
		"asset":        a.address,
		"number":       number,
		"ms":           milliseconds,
		"lower":        strings.ToLower,
		"state":        stateOf,
		"stateIn":      stateIn,
		"ago":          agoOf,
		"until":        func(t *time.Time, now time.Time) string { return span(t.Sub(now)) },
		"clock":        clockOf,
		"iso":          iso,
		"planned":      planned,
		"openTimes":    openTimes,
		"window":       func(ms int64) string { return plain.Span(time.Duration(ms) * time.Millisecond) },
		"line":         plain.Line,
		"detail":       detailPath,
		"dependencies": dependencies,
		"link": func(to, text string, here bool) map[string]any {
			return map[string]any{"To": to, "Text": text, "Here": here}
		},
		"about": func(of any, v *view) map[string]any { return map[string]any{"Of": of, "V": v} },
	}
}

// detailPath is where a dependency's own page is.
func detailPath(id string) string { return "/d/" + url.PathEscape(id) }

// iso writes a moment for scripts, which show it in the reader's own zone.
func iso(moment any) string {
	if t, ok := momentOf(moment); ok {
		return t.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

func clockOf(moment any, now time.Time) string {
	if t, ok := momentOf(moment); ok {
		return clock(t, now)
	}
	return ""
}

// planned writes a moment of a plan: with its date, whatever day it is.
func planned(t *time.Time) string { return t.UTC().Format(dated) }

func agoOf(moment any, now time.Time) string {
	if t, ok := momentOf(moment); ok {
		return span(now.Sub(t))
	}
	return ""
}

func momentOf(moment any) (time.Time, bool) {
	switch t := moment.(type) {
	case time.Time:
		return t, true
	case *time.Time:
		if t != nil {
			return *t, true
		}
	}
	return time.Time{}, false
}

// openTimes are how long a dependency is cut off by its rules, at first and at most.
func openTimes(d admin.Dependency) string {
	first, longest := time.Duration(d.Limits.OpenForMS)*time.Millisecond, time.Duration(d.Limits.MaxOpenForMS)*time.Millisecond
	return plain.Span(first) + " – " + plain.Span(longest)
}
