package history

import (
	"fmt"
	"strings"
	"time"
)

// Limits of what a query returns.
const (
	usual = 100
	most  = 10_000
)

// filter collects what rows have to be like.
type filter struct {
	terms  []string
	values []any
}

func (f *filter) add(term string, value any) {
	f.terms, f.values = append(f.terms, term), append(f.values, value)
}

func (f *filter) equal(column, value string) {
	if value != "" {
		f.add(column+" = ?", value)
	}
}

func (f *filter) between(since, until time.Time, after, before int64) {
	if !since.IsZero() {
		f.add("at >= ?", since.UnixMilli())
	}
	if !until.IsZero() {
		f.add("at < ?", until.UnixMilli())
	}
	if after > 0 {
		f.add("id > ?", after)
	}
	if before > 0 {
		f.add("id < ?", before)
	}
}

// where returns the end of the statement.
func (f *filter) where(oldestFirst bool, limit int) string {
	var s strings.Builder
	if len(f.terms) > 0 {
		s.WriteString("WHERE " + strings.Join(f.terms, " AND ") + " ")
	}
	order := "DESC"
	if oldestFirst {
		order = "ASC"
	}
	if limit <= 0 {
		limit = usual
	}
	fmt.Fprintf(&s, "ORDER BY id %s LIMIT %d", order, min(limit, most))
	return s.String()
}
