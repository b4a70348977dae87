//go:build race

package recloser

// With the race detector on, a simulation of a million calls takes minutes, and
// it has but one goroutine: there it is cut short.
const (
	raceDetector = true
	seeds        = uint64(1) // how many random courses a simulation takes
)
