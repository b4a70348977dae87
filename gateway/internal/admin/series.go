package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/series"
)

// Point is what a dependency's calls were like for one step.
type Point struct {
	At      time.Time `json:"at" doc:"Its beginning"`
	Good    uint64    `json:"good" doc:"Calls that ended"`
	Failed  uint64    `json:"failed"`
	Slow    uint64    `json:"slow"`
	Ignored uint64    `json:"ignored"`
	Refused uint64    `json:"refused" doc:"Calls not let through, whatever by"`
	P50MS   float64   `json:"p50_ms" doc:"Of calls that ended; 0 without any"`
	P95MS   float64   `json:"p95_ms"`
	State   string    `json:"state" doc:"The one that mattered most: as state of the dependency, or shadowed where the rules said open or half-open and calls passed all the same"`
}

// PointList is a dependency's numbers over time.
type PointList struct {
	Dependency string  `json:"dependency"`
	StepMS     int64   `json:"step_ms" doc:"Distance of the points as asked for; older ones may be further apart"`
	Points     []Point `json:"points" nullable:"false" doc:"Oldest first; where nothing was noted there is none"`
}

type seriesInput struct {
	ID   string    `path:"id" doc:"ID of the dependency"`
	From time.Time `query:"from" doc:"Not before; default a quarter of an hour before to"`
	To   time.Time `query:"to" doc:"Before; default now"`
	Step string    `query:"step" enum:"1s,10s,1m,10m" doc:"Distance of the points; default what suits a chart. 1s only reaches back a quarter of an hour"`
}

type seriesOutput struct{ Body PointList }

func (a *api) registerSeries() {
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "get-series", Method: http.MethodGet, Path: "/api/v1/dependencies/{id}/series",
			Summary:     "A dependency's numbers over time",
			Description: "Each second of the last quarter of an hour from memory; beyond that every 10 s for a day, then a minute for a week, then 10 minutes.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Viewer,
		answer: PointList{Dependency: "hotel-1", StepMS: 10_000, Points: []Point{{
			At: exampleTime, Good: 198, Failed: 2, P50MS: 2.9, P95MS: 6.1, State: "closed",
		}}},
	}, a.seriesOf)
}

func (a *api) seriesOf(ctx context.Context, in *seriesInput) (*seriesOutput, error) {
	d, err := a.find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if a.Series == nil {
		return nil, absent("series")
	}
	const most = 10_000
	if in.To.IsZero() {
		in.To = time.Now()
	}
	if in.From.IsZero() {
		in.From = in.To.Add(-series.Memory)
	}
	length := in.To.Sub(in.From)
	if length <= 0 {
		return nil, invalid("query.from", "must be before to", in.From)
	}
	step := series.Step(length)
	if in.Step != "" {
		step, _ = time.ParseDuration(in.Step) // one of the enum
	}
	if length/step > most {
		return nil, invalid("query.step", fmt.Sprintf("would make more than %d points: take a longer step or a shorter time", most), in.Step)
	}
	points, err := a.Series.Points(ctx, d.ID, in.From, in.To, step)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	out := &seriesOutput{PointList{Dependency: d.ID, StepMS: step.Milliseconds(), Points: []Point{}}}
	for _, p := range points {
		out.Body.Points = append(out.Body.Points, Point{
			At: stamp(p.At), Good: p.Good, Failed: p.Failed, Slow: p.Slow, Ignored: p.Ignored, Refused: p.Refused,
			P50MS: millis(p.P50), P95MS: millis(p.P95), State: p.State,
		})
	}
	return out, nil
}
