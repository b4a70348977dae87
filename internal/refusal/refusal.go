// Package refusal has the mark by which the engine knows refusals that are not
// its own: they say nothing about the dependency, so it ignores such a call.
package refusal

import "errors"

// Err is what errors.Is finds in a refusal of package guard.
var Err = errors.New("refused")
