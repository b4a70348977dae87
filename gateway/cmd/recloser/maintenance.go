package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

func (p *program) maintenanceCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "maintenance",
		Short: "Plan when dependencies are cut off, once or by the calendar",
		Example: `  recloser maintenance add hotel-3 --from 22:00 --for 2h --reason "new database"
  recloser maintenance list
  recloser maintenance end k3v7q2 --reason "done early"`,
	}, p.maintenanceAddCommand(), p.maintenanceListCommand(), p.maintenanceEndCommand())
}

// maintenanceRun is a command line of recloser maintenance.
type maintenanceRun struct {
	connection
	printing
	ids, groups               []string
	labels                    map[string]string
	from, until, length, days string
	zone, name, reason        string
	noMessages                bool
}

func (p *program) maintenanceListCommand() *cobra.Command {
	var m maintenanceRun
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is planned and what is in force",
		Example: `  recloser maintenance list
  recloser maintenance list -o json
  recloser maintenance list -o name`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listMaintenance(cmd.Context(), m) },
	}
	m.printing.flags(cmd.Flags(), formTable, formJSON, formYAML, formName)
	m.connection.flags(cmd.Flags())
	return cmd
}

func (p *program) listMaintenance(ctx context.Context, m maintenanceRun) error {
	if err := m.check(); err != nil {
		return err
	}
	api, err := m.open()
	if err != nil {
		return err
	}
	answer, err := api.Get(ctx, "maintenance", nil)
	if err != nil {
		return err
	}
	all, err := client.List[client.Maintenance](answer, "maintenance")
	if err != nil {
		return err
	}
	id := func(w client.Maintenance) string { return w.ID }
	return list(p.stdout, m.printing, "maintenance", all, id, func() *table { return maintenanceTable(all, answer.At) })
}

func maintenanceTable(all []client.Entry[client.Maintenance], now time.Time) *table {
	t := &table{head: []string{"ID", "NAME", "OF", "WHEN", "EFFECT", "WHY"}}
	for _, e := range all {
		w := e.Value
		effect := "cut off"
		if w.Effect == "no-messages" {
			effect = "no messages"
		}
		why := w.Reason
		if w.By != "" {
			why = fmt.Sprintf("“%s” — %s", w.Reason, w.By)
		}
		t.add(cell{w.ID, ""}, cell{w.Name, ""}, cell{ofWhat(w), ""}, cell{whenIs(w, now), ""}, cell{effect, ""}, cell{why, ""})
	}
	return t
}

// ofWhat is who belongs to it.
func ofWhat(w client.Maintenance) string {
	parts := slices.Clone(w.Dependencies)
	for _, g := range w.Groups {
		parts = append(parts, "group "+g)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Labels)) {
		parts = append(parts, name+"="+w.Labels[name])
	}
	return strings.Join(parts, ", ")
}

// whenIs is the rule, or when it begins and ends.
func whenIs(w client.Maintenance, now time.Time) string {
	if c := w.Calendar; c != nil {
		days := strings.Join(c.Days, ",")
		if len(c.Days) == len(week) {
			days = "daily"
		}
		return fmt.Sprintf("%s %s %s for %s", days, c.From, c.Zone, plain.Span(time.Duration(c.For)))
	}
	switch {
	case w.From == nil || w.To == nil:
		return ""
	case !now.Before(*w.To):
		return "over"
	case !now.Before(w.From.Truncate(time.Second)): // now is of whole seconds
		return "now, until " + clock(*w.To, now)
	}
	return fmt.Sprintf("in %s: %s for %s", span(w.From.Sub(now)), clock(*w.From, now), span(w.To.Sub(*w.From)))
}
