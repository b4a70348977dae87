package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// examineStore reads what the nodes of a fleet share.
func examineStore(ctx context.Context, c *config.Config) []finding {
	if !c.Store.Shared() {
		return nil
	}
	const do = "until it is right each gateway is alone, and calls go on"
	store, err := gateway.OpenStore(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return []finding{fail("store", do, "%s", plain.Line(err.Error()))}
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	begin := time.Now()
	docs, _, err := store.Load(ctx)
	if err != nil {
		return []finding{fail("store", do, "%s", plain.Line(err.Error()))}
	}
	known := 0
	for _, d := range docs {
		if strings.HasPrefix(d.Key, "breaker/") {
			known++
		}
	}
	return []finding{good("store", "%s: read in %s, it knows %s", store.Caps().Name, plain.Span(time.Since(begin)), count(known, "dependency", "dependencies"))}
}
