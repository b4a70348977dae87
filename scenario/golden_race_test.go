//go:build race

package scenario

// raceDetector says that everything takes ten times as long.
const raceDetector = true
