package gateway

import (
	"context"
	"log/slog"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

func (g *Gateway) logTransition(id, key string, t recloser.Transition) {
	level := slog.LevelInfo
	if t.To == recloser.Open && t.From == recloser.Closed {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("dependency", id),
		slog.String("from", t.From.String()),
		slog.String("to", t.To.String()),
		slog.String("effect", t.Effect()),
		slog.String("reason", string(t.Reason)),
		slog.Uint64("bad", t.Counts.Bad()),
		slog.Uint64("judged", t.Counts.Judged()),
	}
	if key != "" {
		attrs = append(attrs, slog.String("key", key))
	}
	if t.To == recloser.Open {
		attrs = append(attrs, slog.String("open_for", t.OpenFor.Round(time.Millisecond).String()))
	}
	if t.Cause != nil {
		attrs = append(attrs, slog.String("cause", t.Cause.Error()))
	}
	if by := g.seenBy(t); by != "" {
		attrs = append(attrs, slog.String("note", t.Note), slog.String("seen_by", by))
	}
	if t.By != "" {
		attrs = append(attrs, slog.String("by", t.By), slog.String("note", t.Note))
	}
	g.log.LogAttrs(context.Background(), level, "dependency changed state", attrs...)
}

// seenBy says which nodes had seen a dependency fail that all together have cut off.
func (g *Gateway) seenBy(t recloser.Transition) string {
	if t.Reason != recloser.ReasonFleet || t.To != recloser.Open {
		return ""
	}
	return g.member.seen(t.Name).String()
}

// recordTransition keeps a transition in the history.
func (g *Gateway) recordTransition(id, key string, t recloser.Transition) {
	e := history.Event{
		At: t.At, Dependency: id, Key: key, Kind: history.KindTransition,
		From: t.From.String(), To: t.To.String(), Reason: string(t.Reason), By: t.By, Note: t.Note,
		OpenFor: t.OpenFor, Step: t.Step,
		Good: t.Counts.Good, Failed: t.Counts.Failed, Slow: t.Counts.Slow, Run: t.Counts.Run,
		Text: t.String(), Shadow: t.Shadow,
	}
	if key != "" {
		e.Text = id + ", key " + e.Text
	}
	if by := g.seenBy(t); by != "" {
		e.Note += ", seen by " + by
	}
	if t.Cause != nil {
		e.Cause = cut(t.Cause.Error(), maxCause)
		if t.Reason != recloser.ReasonSuspected { // its cause is what the text says
			e.Text += "; last failure: " + cut(t.Cause.Error(), maxCauseInText)
		}
	}
	g.history.Record(e)
}

// saveTransition has the breaker saved.
func (g *Gateway) saveTransition(id, key string, t recloser.Transition) { g.keeper.listen(id, key, t) }

func (g *Gateway) record(e history.Event) { g.history.Record(e) }

func (g *Gateway) recordMaintenance(n maintenance.Notice) {
	g.log.Info("maintenance", "name", n.Window.Name, "says", n.Text)
	g.history.Record(history.Event{
		At: n.At, Kind: history.KindMaintenance, By: n.Window.By, Note: n.Window.Reason, Text: n.Text,
	})
}

// How much is kept of a failure, and of it in a line for people: an error may bring a
// whole page with it.
const (
	maxCause       = 500
	maxCauseInText = 120
)

func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
