package recloser

import "fmt"

// State says what a breaker does with calls.
type State uint8

// The states. Closed, Open and HalfOpen follow from the rules; Isolated and
// HeldClosed are set by an operator.
const (
	Closed     State = iota // calls pass
	Open                    // calls are refused until the open time is over
	HalfOpen                // a few calls pass as trials
	Isolated                // an operator cut the dependency off
	HeldClosed              // an operator lets all calls pass
)

// States lists every state, in the order of the constants.
func States() []State { return []State{Closed, Open, HalfOpen, Isolated, HeldClosed} }

var stateWords = [...]struct{ name, effect string }{
	Closed:     {"closed", "passing"},
	Open:       {"open", "cut off"},
	HalfOpen:   {"half-open", "on trial"},
	Isolated:   {"isolated", "cut off by hand"},
	HeldClosed: {"held-closed", "passing by hand"},
}

// String returns the state as it is written in the API and in metrics:
// "closed", "open", "half-open", "isolated" or "held-closed".
func (s State) String() string {
	if int(s) >= len(stateWords) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateWords[s].name
}

// Effect returns what the state means for callers, in words for people who
// are no engineers: "passing", "cut off", "on trial", "cut off by hand" or
// "passing by hand".
func (s State) Effect() string {
	if int(s) >= len(stateWords) {
		return "unknown"
	}
	return stateWords[s].effect
}

// EffectInShadow is Effect of a breaker whose calls all pass, see Config.Shadow:
// "would be cut off (shadow: calls pass)". What operators set counts all the same.
func (s State) EffectInShadow() string {
	if s == Open || s == HalfOpen {
		return "would be " + s.Effect() + " (shadow: calls pass)"
	}
	return s.Effect()
}

func (s State) effect(shadow bool) string {
	if shadow {
		return s.EffectInShadow()
	}
	return s.Effect()
}

// MarshalText writes the state as String does.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *State) UnmarshalText(text []byte) error {
	for i, w := range stateWords {
		if w.name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("recloser: unknown state %q", text)
}
