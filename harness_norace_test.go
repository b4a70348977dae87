//go:build !race

package recloser

const (
	raceDetector = false
	seeds        = uint64(4)
)
