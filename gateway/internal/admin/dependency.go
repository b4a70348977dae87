package admin

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Dependency is one dependency with its breaker as the API shows it. Times are
// UTC, null where there is none; durations are milliseconds.
type Dependency struct {
	ID    string `json:"id" doc:"As in the configuration"`
	Name  string `json:"name" doc:"For people"`
	Group string `json:"group" doc:"Empty if it belongs to none"`
	URL   string `json:"url" doc:"As in the configuration"`

	Labels            map[string]string `json:"labels" nullable:"false" doc:"For selectors"`
	Origin            string            `json:"origin" enum:"file,api" doc:"Where it is defined: in the configuration file, or here at run time"`
	DefinitionVersion uint64            `json:"definition_version" doc:"Goes up with every change of the definition"`

	State     string     `json:"state" enum:"closed,open,half-open,isolated,held-closed,maintenance" doc:"What happens to calls now; with shadow, what the rules say would"`
	Effect    string     `json:"effect" doc:"The state in plain words: passing, cut off, on trial, cut off by hand, passing by hand, cut off as planned; in shadow mode would be cut off, would be on trial"`
	Shadow    bool       `json:"shadow" doc:"Calls pass whatever the rules say (breaker.shadow); what operators set counts all the same"`
	Automatic string     `json:"automatic" enum:"closed,open,half-open" doc:"What the rules say, whatever an operator set; of an isolated dependency, what a release starts"`
	Since     time.Time  `json:"since" doc:"When the state began"`
	OutSince  *time.Time `json:"cut_off_since" doc:"When the rules first cut it off, or in shadow mode would have, of an outage that lasts over failed trials; null: they have not since it was last closed or isolated"`
	Until     *time.Time `json:"until" doc:"When the open time or the override ends"`
	Reason    string     `json:"reason" doc:"Why the breaker is in its state, in the words of the metrics; empty before the first change. An operator's own words are in override.reason"`
	Explain   string     `json:"explain" doc:"Why it is cut off or not, in a sentence"`
	Why       string     `json:"why" doc:"What the state rests on, without what passes meanwhile: an operator's words, what opened it with the limit that it is held against, how many trials were good"`
	AtRisk    bool       `json:"at_risk" doc:"Closed, but over 60 % of a limit"`
	Cause     string     `json:"cause" doc:"The last failure seen, cut at 200 characters; empty if there was none"`
	Version   uint64     `json:"version" doc:"Goes up with every change of state; see if_version"`

	Step      int        `json:"step" doc:"How often the open time has been doubled"`
	OpenForMS int64      `json:"open_for_ms" doc:"Length of the running or last open time; 0 before the first"`
	NextTrial *time.Time `json:"next_trial" doc:"When an open dependency is tried again; sooner if its health check is good"`
	LastTrial *Trial     `json:"last_trial" doc:"How the last trial ended, whatever opened the breaker; null: none has since the start"`
	Ramping   bool       `json:"ramping" doc:"Closed, but in the slow start after an outage"`
	Override  *Override  `json:"override" doc:"What an operator set"`

	Window Window `json:"window" doc:"The calls that a verdict would rest on"`
	Limits Limits `json:"limits" doc:"What the rules judge by"`

	InFlight int               `json:"in_flight" doc:"Calls that are running now"`
	Overdue  int               `json:"overdue" doc:"Those of them that are past the slow limit and not answered"`
	Totals   Totals            `json:"totals" doc:"Calls that ended, since the start"`
	Refused  map[string]uint64 `json:"refused" doc:"Calls not let through since the start, by reason; never counted as failures"`

	RateLimit   *RateLimit  `json:"rate_limit" doc:"How often it may be called; null: as often as anybody likes"`
	Bulkhead    Bulkhead    `json:"bulkhead" doc:"How many calls may run at once"`
	Probe       *Probe      `json:"probe" doc:"What the health checks of the gateway say; null without"`
	Keys        *Keys       `json:"keys" doc:"The breakers by key, if it has any; state, window and what follows from them are of the calls without a key, the numbers of running calls and since the start of all"`
	Maintenance *Occurrence `json:"maintenance" doc:"The planned isolation that is in force, if one is"`
	Nodes       []NodeState `json:"nodes" nullable:"false" doc:"How each process has it, the one that answers first; others as they said last, within seconds"`
	Fleet       *Shared     `json:"fleet" doc:"What the gateways that share a store have agreed on; null: this one is alone"`
}

// Window is what the breaker has seen lately.
type Window struct {
	Good     uint64   `json:"good"`
	Failed   uint64   `json:"failed" doc:"Failed, and were not slow"`
	Slow     uint64   `json:"slow" doc:"Not answered within the slow limit, however they ended"`
	Judged   uint64   `json:"judged" doc:"good + failed + slow"`
	Run      int      `json:"run" doc:"Length of the running row of bad calls"`
	MinCalls int      `json:"min_calls" doc:"How many judged calls a verdict on the share takes"`
	BadRatio *float64 `json:"bad_ratio" doc:"Share of failed and slow calls, 0 to 1; null while there are not enough calls"`
}

// Limits are the settings in force; null is off.
type Limits struct {
	FailureRate  *float64 `json:"failure_rate" doc:"Share of bad calls in the window that trips"`
	Consecutive  *int     `json:"consecutive" doc:"Bad calls in a row that trip"`
	SpreadMS     *int64   `json:"spread_ms" doc:"Time over which the bad calls that trip were admitted, at least"`
	SlowCallMS   *int64   `json:"slow_call_ms" doc:"A call not answered within this is bad"`
	Suspect      Suspect  `json:"suspect" doc:"A call that runs longer is bad until it ends well"`
	WindowMS     int64    `json:"window_ms" doc:"How far back the window reaches, at least"`
	OpenForMS    int64    `json:"open_for_ms" doc:"First open time"`
	MaxOpenForMS int64    `json:"max_open_for_ms" doc:"Longest open time"`
	Trials       int      `json:"trials" doc:"Good trials needed to reclose"`
}

// Override is what an operator set, in place of what the rules say.
type Override struct {
	_      struct{}   `nullable:"true"`
	State  string     `json:"state" enum:"isolated,held-closed"`
	By     string     `json:"by" doc:"Who"`
	Reason string     `json:"reason" doc:"Why, in the operator's words"`
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until" doc:"null: until it is released"`
}

// Trial is how one trial ended.
type Trial struct {
	_      struct{}  `nullable:"true"`
	At     time.Time `json:"at" doc:"When it ended"`
	Result string    `json:"result" enum:"good,bad"`
	TookMS float64   `json:"took_ms" doc:"To its answer, or until it was given up"`
	Cause  string    `json:"cause" doc:"Why it was bad, cut at 200 characters; empty if it was good"`
}

func newTrial(t recloser.Trial) *Trial {
	if t.At.IsZero() {
		return nil
	}
	v := &Trial{At: stamp(t.At), Result: "good", TookMS: millis(t.Took)}
	if t.Bad != nil {
		v.Result, v.Cause = "bad", cut(t.Bad.Error(), maxCause)
	}
	return v
}

// Totals count calls that ended, since the start.
type Totals struct {
	Success uint64 `json:"success"`
	Failed  uint64 `json:"failed" doc:"Failed, and were not slow"`
	Slow    uint64 `json:"slow" doc:"Not answered within the slow limit, however they ended"`
	Ignored uint64 `json:"ignored" doc:"Says nothing about the dependency, such as a caller who hung up"`
	Late    uint64 `json:"late" doc:"Those of all above that ended after the state had changed"`
}

// The longest texts that are shown; an error may bring a whole page with it.
const (
	maxCause = 200
	maxText  = 500
)

// view shows a dependency.
func (a *api) view(d *dependency.Dependency) Dependency {
	s, cfg, explain := d.Stats(), d.Breaker.Config(), d.Breaker.Explain()
	limits := newLimits(s, cfg)
	state, effect := a.stateOf(d, s)
	now := time.Now()
	out := Dependency{
		ID:                d.ID,
		Name:              d.Name,
		Group:             d.Group,
		URL:               d.URL.Redacted(),
		Labels:            d.Labels,
		Origin:            originOf(d),
		DefinitionVersion: d.Version,
		State:             state,
		Effect:            effect,
		Shadow:            s.Shadow,
		Automatic:         s.Automatic.String(),
		Since:             stamp(s.Since),
		OutSince:          stampOrNull(s.OutSince),
		Until:             stampOrNull(s.Until),
		Reason:            string(s.Reason),
		Explain:           cut(explain, maxText),
		Why:               cut(why(s, cfg, limits, explain), maxText),
		AtRisk:            near(s, cfg),
		Version:           s.Seq,
		Step:              s.Step,
		OpenForMS:         s.OpenFor.Milliseconds(),
		LastTrial:         newTrial(s.LastTrial),
		Ramping:           s.RampLimit > 0,
		Override:          newOverride(s.Override),
		Window:            newWindow(s),
		Limits:            limits,
		InFlight:          s.InFlight,
		Overdue:           s.Overdue,
		Totals:            Totals{Success: s.Success, Failed: s.Failed, Slow: s.Slow, Ignored: s.Ignored, Late: s.Late},
		Refused:           make(map[string]uint64),
		Bulkhead:          Bulkhead{InFlight: d.Bulkhead.InFlight(), Limit: d.Bulkhead.Limit(), Refused: d.Bulkhead.Refused()},
		RateLimit:         newRateLimit(d),
		Probe:             a.probeOf(d),
		Keys:              keysOf(d),
		Maintenance:       a.occurrenceOf(d),
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Limits.Suspect = newSuspect(d.Latency.Limit(s.SlowCall, now))
	if s.State == recloser.Open {
		out.NextTrial = nextTrial(out.Until, out.Probe)
	}
	if s.Cause != nil {
		out.Cause = cut(s.Cause.Error(), maxCause)
	}
	for _, reason := range recloser.RefusalReasons() {
		out.Refused[string(reason)] = s.Refused[reason]
	}
	out.Fleet = a.sharedOf(d)
	out.Nodes = a.nodesOf(d, &out)
	return out
}

// nextTrial is the end of the open time, or of what bad probes make of it: each of them
// moves that end on by a few seconds.
func nextTrial(until *time.Time, p *Probe) *time.Time {
	if until != nil && p != nil && p.HeldUntil != nil && p.HeldUntil.After(*until) {
		return p.HeldUntil
	}
	return until
}

func newWindow(s recloser.Stats) Window {
	w := Window{
		Good: s.Window.Good, Failed: s.Window.Failed, Slow: s.Window.Slow,
		Judged: s.Window.Judged(), Run: s.Window.Run, MinCalls: s.MinCalls,
	}
	if ratio, enough := s.BadRatio(); enough {
		w.BadRatio = &ratio
	}
	return w
}

func newLimits(s recloser.Stats, cfg recloser.Config) Limits {
	return Limits{
		FailureRate:  onOrNull(cfg.FailureRate),
		Consecutive:  onOrNull(cfg.Consecutive),
		SpreadMS:     onOrNull(cfg.Spread.Milliseconds()),
		SlowCallMS:   onOrNull(s.SlowCall.Milliseconds()),
		WindowMS:     cfg.Window.Milliseconds(),
		OpenForMS:    cfg.OpenFor.Milliseconds(),
		MaxOpenForMS: cfg.MaxOpenFor.Milliseconds(),
		Trials:       cfg.Trials,
	}
}

func newOverride(o *recloser.Override) *Override {
	if o == nil {
		return nil
	}
	return &Override{State: o.State.String(), By: o.By, Reason: o.Why, Since: stamp(o.Since), Until: stampOrNull(o.Until)}
}

// onOrNull is nil for a setting that is off. A time that is off is no whole
// millisecond, and one that is on is at least one.
func onOrNull[T int | int64 | float64](setting T) *T {
	if setting <= 0 {
		return nil
	}
	return &setting
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func stampOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stamp(t)
	return &t
}

// cut shortens a text to n characters, the last of them an ellipsis.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
