package panel

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// plans is the page of planned isolations.
type plans struct {
	Windows      []plan
	Dependencies []admin.Dependency
	Groups       []string
}

// plan is one of them, in words.
type plan struct {
	admin.Maintenance
	Concerns string
	When     string // of one that comes again
	Over     bool
}

func (p *Panel) maintenance(ctx context.Context, v *view, _ *http.Request) error {
	all, err := v.read.Maintenance(ctx)
	if err != nil {
		return err
	}
	var page plans
	for _, m := range all {
		w := plan{Maintenance: m, Concerns: concerns(&m), Over: !m.Active && m.NextFrom == nil}
		if c := m.Calendar; c != nil {
			w.When = fmt.Sprintf("%s from %s for %s (%s)", strings.Join(c.Days, ", "), c.From, shortSpan(c.For), c.Zone)
		}
		page.Windows = append(page.Windows, w)
	}
	slices.SortStableFunc(page.Windows, func(a, b plan) int { return rankOf(a) - rankOf(b) })
	page.Dependencies = v.read.Dependencies(ctx)
	for _, d := range page.Dependencies {
		if d.Group != "" && !slices.Contains(page.Groups, d.Group) {
			page.Groups = append(page.Groups, d.Group)
		}
	}
	v.Page, v.Title, v.Renew, v.Of = "maintenance", "Maintenance", 30, page
	return nil
}

// rankOf puts what is in force before what will be, and that before what was.
func rankOf(p plan) int {
	switch {
	case p.Active:
		return 0
	case !p.Over:
		return 1
	}
	return 2
}

// concerns says what a plan is about.
func concerns(m *admin.Maintenance) string {
	var parts []string
	for _, g := range m.Groups {
		if g == "*" {
			parts = append(parts, "all dependencies")
			continue
		}
		parts = append(parts, "group "+plain.Line(g))
	}
	for _, id := range m.Dependencies {
		parts = append(parts, plain.Line(id))
	}
	for name, value := range m.Labels {
		parts = append(parts, plain.Line(name+"="+value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// shortSpan turns 1h30m0s into 1h30m.
func shortSpan(text string) string {
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
