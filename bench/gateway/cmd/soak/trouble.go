package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// trouble is one kind of fault.
type trouble struct {
	name   string
	hangs  bool
	script town.Script
}

func troubles() []trouble {
	return []trouble{
		{"black hole", true, town.BlackHole()},
		{"errors", false, town.Errors()},
		{"errors while the probe lies", false, town.Liar()},
		{"60 % errors", false, town.Some(0.6)},
		{"up and down", false, town.Flapping(4 * time.Second)},
		{"answers after 3 s", false, town.Slowly()},
		{"breaks off", false, town.Broken()},
	}
}

// partner is a hotel with what is known of it.
type partner struct {
	*town.Hotel

	mu      sync.Mutex
	trouble trouble   // name "" is none
	since   time.Time // of trouble, or of none
	touched time.Time // until when an act of an operator may show
}

// suffer lets random faults come and go, and returns when ctx has ended.
func (p *partner) suffer(ctx context.Context, random *rand.Rand, tell func(string)) {
	kinds := troubles()
	first := true
	for {
		well := seconds(random, 30, 120)
		if first {
			well = seconds(random, 5, 60) // a short run has faults too
		}
		first = false
		if !town.Wait(ctx, well) {
			return
		}
		kind, ill := kinds[random.IntN(len(kinds))], seconds(random, 8, 40)
		now := time.Now()
		p.Fault(now, now.Add(ill), kind.script)
		p.set(kind, now)
		tell(fmt.Sprintf("%s: %s for %.0f s", p.ID, kind.name, ill.Seconds()))
		over := town.Wait(ctx, ill)
		p.set(trouble{}, time.Now())
		if !over {
			return
		}
	}
}

func (p *partner) set(t trouble, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble, p.since = t, since
}

// touch notes an act that may show until then. It reports false if another one
// may still show.
func (p *partner) touch(until time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.touched) {
		return false
	}
	p.touched = until
	return true
}

const (
	// wellFor is how long a hotel must have been well to have to be closed.
	wellFor = 60 * time.Second
	// hangsFor is how long it must have hung to have to be cut off.
	hangsFor = 5 * time.Second
)

// wrong says what is wrong with its state, "" if nothing is.
func (p *partner) wrong(state string, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lasting := min(now.Sub(p.since), now.Sub(p.touched)) // what was last sets the time
	switch {
	case p.trouble.name == "" && lasting > wellFor && state != "closed":
		return fmt.Sprintf("%s is %s, and well for %.0f s", p.ID, state, lasting.Seconds())
	case p.trouble.hangs && lasting > hangsFor && state == "closed":
		return fmt.Sprintf("%s is closed, and hangs for %.0f s", p.ID, lasting.Seconds())
	}
	return ""
}

// seconds is a random time.
func seconds(random *rand.Rand, least, most int) time.Duration {
	return time.Duration(least)*time.Second + time.Duration(random.Int64N(int64(most-least)*int64(time.Second)))
}
