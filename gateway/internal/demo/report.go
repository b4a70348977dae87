package demo

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/recloser-go/recloser"
)

// Report is what a run of the demo measured. Its JSON is stable: names stay,
// fields may be added.
type Report struct {
	Lanes       Lanes        `json:"lanes"`
	Transitions []Transition `json:"transitions"` // of the protected lane's breakers, in order
}

// Lanes holds the figures of the two ways.
type Lanes struct {
	Protected   Lane `json:"protected"`   // through the gateway
	Unprotected Lane `json:"unprotected"` // straight to the hotels
}

// Lane is what became of the guests on one way.
type Lane struct {
	Hotels map[string]Hotel `json:"hotels"` // by ID: hotel-1 to hotel-12
	Asks   Asks             `json:"asks"`
}

// Hotel holds the figures of one hotel. All but CallsReached count scans of
// its own guests, as their turnstile saw them; a guest who was still waiting
// when the demo ended counts by the time waited until then.
type Hotel struct {
	Fault                Fault    `json:"fault"`                  // hang, slow, errors or ""
	CallsReached         int      `json:"calls_reached"`          // calls of all kinds (asks and trials too) sent to it while its fault lasted, counted by the hotel
	WaitedOver1s         int      `json:"waited_over_1s"`         // scans, whatever their end
	MaxWaitMS            int64    `json:"max_wait_ms"`            // longest wait of a scan
	FirstRefusalS        *float64 `json:"first_refusal_s"`        // from the fault's start to the first guest turned away; null: none was
	FullAgainS           *float64 `json:"full_again_s"`           // from the fault's end to the start of the first whole second with no refusal and no failure; null: there was none
	RefusedAfterRecovery int      `json:"refused_after_recovery"` // scans refused after the fault's end
	OK                   int      `json:"ok"`                     // answered
	Failed               int      `json:"failed"`                 // an error or no answer
	Refused              int      `json:"refused"`                // turned away at once because the hotel was cut off; never in Failed
}

// Asks holds the figures of the guests whose hotel was not known.
type Asks struct {
	Yes          int `json:"yes"`     // let in
	No           int `json:"no"`      // every hotel said no
	Unknown      int `json:"unknown"` // turned away: a hotel that might have said yes was not heard
	WaitedOver1s int `json:"waited_over_1s"`
}

// Transition is one change of a breaker's state.
type Transition struct {
	AtS        float64         `json:"at_s"` // since the first guest
	Dependency string          `json:"dependency"`
	From       recloser.State  `json:"from"`
	To         recloser.State  `json:"to"`
	Reason     recloser.Reason `json:"reason"`
	Good       uint64          `json:"good"`   // calls in the window that decided
	Failed     uint64          `json:"failed"` // "
	Slow       uint64          `json:"slow"`   // "
	Run        int             `json:"run"`    // bad calls in a row
	OpenForS   float64         `json:"open_for_s,omitempty"`
	Cause      string          `json:"cause,omitempty"` // the last failure seen
}

// WriteTo writes the report as indented JSON.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	if r.Transitions == nil {
		r.Transitions = []Transition{} // a list, even if nothing happened
	}
	return writeIndented(w, r)
}

func writeIndented(w io.Writer, value any) (int64, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(text, '\n'))
	return int64(n), err
}

// laneReport works a lane's figures out of its book. Now is when the book was
// closed. What the hotels counted themselves is not in it.
func laneReport(book []visit, o outage, now time.Duration) Lane {
	report := Lane{Hotels: make(map[string]Hotel, hotelsPerLane), Asks: askReport(book, now)}
	for number := 1; number <= hotelsPerLane; number++ {
		var scans []visit
		for _, v := range book {
			if !v.ask && v.hotel == number {
				scans = append(scans, v)
			}
		}
		report.Hotels[hotelID(number)] = hotelReport(scans, faultOf(number), o, now)
	}
	return report
}

func hotelReport(scans []visit, f Fault, o outage, now time.Duration) Hotel {
	h := Hotel{Fault: f}
	for _, v := range scans {
		wait := v.wait(now)
		h.MaxWaitMS = max(h.MaxWaitMS, wait.Milliseconds())
		if wait > longWait {
			h.WaitedOver1s++
		}
		switch v.result {
		case answered:
			h.OK++
		case failed:
			h.Failed++
		case refused, released:
			h.Refused++
		case waiting, yes, no, unknown:
		}
	}
	if f == NoFault || !o.begun {
		return h
	}
	h.FirstRefusalS = firstRefusal(scans, o.from)
	if o.ended {
		h.FullAgainS = fullAgain(scans, o.until, now)
		for _, v := range scans {
			if v.result.refusal() && v.end >= o.until {
				h.RefusedAfterRecovery++
			}
		}
	}
	return h
}

// firstRefusal returns the time from then to the first guest who was told.
func firstRefusal(scans []visit, from time.Duration) *float64 {
	first := time.Duration(math.MaxInt64)
	for _, v := range scans {
		if v.result.refusal() && v.end >= from {
			first = min(first, v.end)
		}
	}
	if first == math.MaxInt64 {
		return nil
	}
	return seconds(first - from)
}

// fullAgain returns the time from then to the start of the first whole second
// in which scans ended and none of them was refused or failed.
func fullAgain(scans []visit, from, now time.Duration) *float64 {
	well, troubled := make(map[time.Duration]bool), make(map[time.Duration]bool) // by full seconds since from
	for _, v := range scans {
		if v.result == waiting || v.end < from {
			continue
		}
		second := (v.end - from) / time.Second
		if v.result == answered {
			well[second] = true
		} else {
			troubled[second] = true
		}
	}
	for s := time.Duration(0); from+(s+1)*time.Second <= now; s++ {
		if well[s] && !troubled[s] {
			return seconds(s * time.Second)
		}
	}
	return nil
}

func askReport(book []visit, now time.Duration) Asks {
	var a Asks
	for _, v := range book {
		if !v.ask {
			continue
		}
		if v.wait(now) > longWait {
			a.WaitedOver1s++
		}
		switch v.result {
		case yes:
			a.Yes++
		case no:
			a.No++
		case unknown:
			a.Unknown++
		case waiting, answered, refused, released, failed:
		}
	}
	return a
}

func newTransition(t recloser.Transition, c clock) Transition {
	r := Transition{
		AtS: *seconds(c.of(t.At)), Dependency: t.Name, From: t.From, To: t.To, Reason: t.Reason,
		Good: t.Counts.Good, Failed: t.Counts.Failed, Slow: t.Counts.Slow, Run: t.Counts.Run,
		OpenForS: *seconds(t.OpenFor),
	}
	if t.Cause != nil {
		r.Cause = t.Cause.Error()
	}
	return r
}

// seconds returns d in seconds, to the millisecond.
func seconds(d time.Duration) *float64 {
	s := float64(d.Round(time.Millisecond).Milliseconds()) / 1000
	return &s
}
