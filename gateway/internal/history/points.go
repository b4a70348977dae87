package history

import (
	"context"
	"slices"
	"time"
)

// Point is what a dependency's calls were like for a while.
type Point struct {
	At         time.Time     `json:"at"` // its beginning
	Dependency string        `json:"dependency"`
	Good       uint64        `json:"good"`
	Failed     uint64        `json:"failed"`
	Slow       uint64        `json:"slow"`
	Ignored    uint64        `json:"ignored"`
	Refused    uint64        `json:"refused"`
	P50        time.Duration `json:"p50"` // nanoseconds, as of P95; of merged points, that of the worst
	P95        time.Duration `json:"p95"`
	State      string        `json:"state"` // of merged points the one that people should see: isolated, open, half-open, Shadowed, held-closed, closed
}

// stepped is a point with its length.
type stepped struct {
	Point
	step time.Duration
}

// Shadowed is the state of a point in which the rules said open or half-open, and calls
// passed all the same.
const Shadowed = "shadowed"

// bySeverity lists states from the least to the most important.
var bySeverity = [...]string{"closed", "held-closed", Shadowed, "half-open", "open", "isolated"}

// add merges another point into p.
func (p *Point) add(o Point) {
	p.Good += o.Good
	p.Failed += o.Failed
	p.Slow += o.Slow
	p.Ignored += o.Ignored
	p.Refused += o.Refused
	p.P50, p.P95 = max(p.P50, o.P50), max(p.P95, o.P95)
	if slices.Index(bySeverity[:], o.State) > slices.Index(bySeverity[:], p.State) {
		p.State = o.State
	}
}

// merge puts points of one dependency, in the order of time, into steps.
func merge(points []stepped, step time.Duration) []Point {
	var merged []Point
	for _, p := range points {
		p.At = floor(p.At, step)
		if n := len(merged); n > 0 && merged[n-1].At.Equal(p.At) {
			merged[n-1].add(p.Point)
			continue
		}
		merged = append(merged, p.Point)
	}
	return merged
}

// floor returns the beginning of the step that t is in.
func floor(t time.Time, step time.Duration) time.Time {
	ms := t.UnixMilli()
	return time.UnixMilli(ms - ms%step.Milliseconds()).UTC()
}

// AddPoints keeps points of 10 s each. They are thinned out with age: 10 s for a
// day, a minute for a week, then 10 min for 400 days.
func (h *History) AddPoints(ctx context.Context, points []Point) error {
	w := &batch{}
	for _, p := range points {
		p.At = floor(p.At, finest)
		w.points = append(w.points, stepped{p, finest})
	}
	return h.change(ctx, func() (*batch, error) { return w, nil })
}

// Points returns the points of a dependency that begin at from or later and
// before to, oldest first, merged into steps of at least 10 s. Where they are
// thinned out already they are further apart. It returns at most 10 000: the
// step is made longer if need be.
func (h *History) Points(ctx context.Context, dependency string, from, to time.Time, step time.Duration) ([]Point, error) {
	step = max(step, finest, to.Sub(from)/most).Truncate(finest)
	found, err := read(ctx, h, func(ctx context.Context, b *base) ([]stepped, error) {
		return b.points(ctx, `WHERE dependency = ? AND step IN (10, 60, 600) AND at >= ? AND at < ? ORDER BY at`,
			dependency, from.UnixMilli(), to.UnixMilli())
	})
	return merge(found, step), err
}

func (b *base) points(ctx context.Context, where string, values ...any) (points []stepped, err error) {
	rows, err := b.r.QueryContext(ctx, "SELECT * FROM point "+where, values...) //nolint:gosec // the text is this package's own; what comes from outside is bound
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p stepped
		var at, step int64
		if err := rows.Scan(&p.Dependency, &step, &at, &p.Good, &p.Failed, &p.Slow, &p.Ignored, &p.Refused,
			&p.P50, &p.P95, &p.State); err != nil {
			return nil, err
		}
		p.At, p.step = fromMilli(at), time.Duration(step)*time.Second
		points = append(points, p)
	}
	return points, rows.Err()
}

func (b *base) forgetPoints(ctx context.Context) error {
	_, err := b.w.ExecContext(ctx, `DELETE FROM point`)
	return err
}
