package deploytest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// query is one that somebody ships.
type query struct {
	where, expr string
}

// dashboard is what is read of Grafana's JSON.
type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, deploy+"grafana/recloser.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// inGrafana puts in what Grafana would.
func inGrafana(expr string) string {
	return strings.NewReplacer(
		"$job", "recloser", "$dependency", ".*", "$group", ".*", "$__rate_interval", "10s", "$__interval", "10s",
	).Replace(expr)
}

// queries returns every query of the dashboard, with those of its variables.
func (d dashboard) queries() (all []query) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, query{"panel " + p.Title, inGrafana(target.Expr)})
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, query{"annotation " + a.Name, inGrafana(a.Expr)})
	}
	values := regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
	for _, v := range d.Templating.List {
		if m := values.FindStringSubmatch(v.Definition); m != nil {
			all = append(all, query{"variable " + v.Name, inGrafana("count by (" + m[2] + ") (" + m[1] + ")")})
		}
	}
	return all
}

type rule struct {
	Record, Alert, Expr string
	Annotations         map[string]string
}

func readRules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	if err := yaml.Unmarshal([]byte(read(t, deploy+"prometheus/recloser.rules.yml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

var (
	selector = regexp.MustCompile(`\b((?:recloser_|process_|dependency:)[a-z0-9_:]+|up)\b(\{[^}]*\})?`)
	ours     = regexp.MustCompile(`\brecloser_[a-z_]+`)
)

// ofRules returns what must have data for the rules to work: each that records, and
// of those that alert, which are silent when all is well, each series they look at.
func ofRules(rules []rule) (all []query) {
	for _, r := range rules {
		if r.Record != "" {
			all = append(all, query{"rule " + r.Record, r.Expr}, query{"what is recorded", r.Record})
			continue
		}
		for _, s := range selector.FindAllString(r.Expr, -1) {
			all = append(all, query{"alert " + r.Alert, s})
		}
	}
	return all
}

// names returns the metrics of ours in queries.
func names(queries []query) []string {
	var all []string
	for _, q := range queries {
		if !strings.Contains(q.where, "recorded") {
			all = append(all, ours.FindAllString(regexp.MustCompile(`dependency:[a-z_:0-9]+`).ReplaceAllString(q.expr, ""), -1)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
