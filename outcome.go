package recloser

import "fmt"

// Outcome is how a call ended, as far as the dependency's health goes.
type Outcome uint8

// The outcomes. The zero value leaves the decision to the default rule.
const (
	Default Outcome = iota // nil is Success, the caller's own cancel is Ignored, anything else is Failure
	Success                // the dependency answered
	Failure                // the dependency failed
	Ignored                // says nothing about the dependency: not counted in any rate
)

// String returns "default", "success", "failure" or "ignored".
func (o Outcome) String() string {
	switch o {
	case Default:
		return "default"
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Ignored:
		return "ignored"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}
