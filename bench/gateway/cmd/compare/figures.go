package main

import (
	"slices"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// Figures of a gateway in a run, by name. One that is missing never came to be:
// no guest was refused, or full traffic did not come back.
type figures map[string]float64

// Names of figures. Of several ill hotels it is the one that fared worst.
const (
	waited       = "callers over 1 s"               // guests of an ill hotel, from the fault to the end
	firstRefusal = "first fast refusal, s"          // since the fault began
	backToFull   = "back to full traffic, s"        // since the recovery
	reached      = "calls that reached it"          // while the fault lasted
	possible     = "share of what could succeed, %" // while the fault lasted, of the calls that the hotel would have served
	succeeded    = "share that succeeds, %"         // while the fault lasted, of all calls to the ill hotel
	peak         = "at most at once at it"          // calls in flight at the ill hotel
	healthyOK    = "healthy hotels, %"              // of their calls
	healthyP99   = "healthy hotels' p99, ms"        // while the fault lasted
	againstCalm  = "p99 against no fault"           // of the same hotels of a second gateway without a fault, at the same time
	askP99       = "p99 of the ask, ms"             // while the fault lasted
	named        = "missing one named, %"           // of the asks without a certain answer, those that name the ill hotel
	cpu          = "CPU, µs a request"
	againstBare  = "CPU against bare"
)

// names is the order in which figures are shown.
var names = []string{
	waited, firstRefusal, backToFull, reached, possible, succeeded, peak,
	healthyOK, healthyP99, againstCalm, askP99, named, cpu, againstBare,
}

// worst takes of each figure the worst of several hotels. If one of them lacks it,
// it never came to be for all of them.
func worst(all []figures) figures {
	f := figures{}
	for _, name := range names {
		var values []float64
		for _, one := range all {
			if v, ok := one[name]; ok {
				values = append(values, v)
			}
		}
		switch {
		case len(values) == 0 || len(values) < len(all):
		case isShare(name):
			f[name] = slices.Min(values)
		default:
			f[name] = slices.Max(values)
		}
	}
	return f
}

// isShare reports whether more of a figure is better.
func isShare(name string) bool {
	return slices.Contains([]string{possible, succeeded, healthyOK, named}, name)
}

// ofIll returns the figures of one ill hotel.
func ofIll(calls []town.Call, h *town.Hotel, s town.Script, p phases) figures {
	during := town.Between(calls, p.faultAt(), p.recoveryAt())
	f := figures{
		waited:    float64(town.Waited(town.Between(calls, p.faultAt(), p.end()), time.Second)),
		reached:   float64(h.Reached()),
		succeeded: percent(town.Succeeded(during), len(during)),
		peak:      float64(h.Peak()),
	}
	if could := town.Possible(during, s, p.faultAt()); could > 0 {
		f[possible] = percent(town.Succeeded(during), could)
	}
	if d, ok := town.FirstRefusal(calls, p.faultAt()); ok {
		f[firstRefusal] = d.Seconds()
	}
	if d, ok := town.BackToFull(calls, p.recoveryAt()); ok {
		f[backToFull] = d.Seconds()
	}
	return f
}

// ofHealthy returns the figures of the hotels without a fault: all their calls.
func ofHealthy(calls []town.Call, p phases) figures {
	during := town.Between(calls, p.faultAt(), p.recoveryAt())
	return figures{
		healthyOK:  percent(town.Succeeded(calls), len(calls)),
		healthyP99: ms(town.Percentile(town.Took(during), 0.99)),
	}
}

// ofAsks returns the figures of asks of all hotels, with one ill.
func ofAsks(calls []town.Call, ill string, p phases) figures {
	during := town.Between(calls, p.faultAt(), p.recoveryAt())
	unknown, naming := 0, 0
	for _, c := range during {
		if c.OK {
			continue
		}
		unknown++
		if slices.Contains(c.Names, ill) {
			naming++
		}
	}
	f := figures{
		askP99: ms(town.Percentile(town.Took(during), 0.99)),
		waited: float64(town.Waited(town.Between(calls, p.faultAt(), p.end()), time.Second)),
	}
	if unknown > 0 {
		f[named] = percent(naming, unknown)
	}
	if d, ok := town.BackToFull(calls, p.recoveryAt()); ok {
		f[backToFull] = d.Seconds()
	}
	return f
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
