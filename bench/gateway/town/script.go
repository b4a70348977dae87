package town

import "time"

// Act is what a hotel does with one request.
type Act int

// What a hotel does with one request.
const (
	Serve Act = iota // answer 200 after the latency
	Fail             // answer 500 after the latency
	Hang             // read it and never answer
	Slow             // answer 200, much too late
	Break            // close the connection in the middle of the answer
)

// Script says what a hotel does while its fault lasts. Times are since the fault
// began. Before and after it every request is served.
type Script struct {
	// Call judges guest number n. It depends on nothing but its arguments, so
	// whoever reads a run's figures knows what would have been answered.
	Call func(since time.Duration, n uint64) Act
	// Probe judges a request for the path of probes.
	Probe func(since time.Duration) Act
}

// always does the same with every call.
func always(a Act) func(time.Duration, uint64) Act {
	return func(time.Duration, uint64) Act { return a }
}

// probes does the same with every probe.
func probes(a Act) func(time.Duration) Act {
	return func(time.Duration) Act { return a }
}

// Well is a hotel without a fault.
func Well() Script { return Script{Call: always(Serve), Probe: probes(Serve)} }

// BlackHole takes everything, probes too, and answers nothing.
func BlackHole() Script { return Script{Call: always(Hang), Probe: probes(Hang)} }

// Errors answers 500. Its probe says so too.
func Errors() Script { return Script{Call: always(Fail), Probe: probes(Fail)} }

// Liar answers 500, while its probe says that all is well.
func Liar() Script { return Script{Call: always(Fail), Probe: probes(Serve)} }

// Slowly answers after 3 s.
func Slowly() Script { return Script{Call: always(Slow), Probe: probes(Slow)} }

// Broken breaks off its answers. Its probe says that all is well.
func Broken() Script { return Script{Call: always(Break), Probe: probes(Serve)} }

// Some answers 500 to this share of the guests: by a fixed sequence that looks
// random, so that all gateways meet the same one.
func Some(share float64) Script {
	call := func(_ time.Duration, n uint64) Act {
		if chance(n) < share {
			return Fail
		}
		return Serve
	}
	return Script{Call: call, Probe: probes(Serve)}
}

// Flapping answers 500 for the first half of each period and serves in the
// other. Its probe is honest.
func Flapping(period time.Duration) Script {
	act := func(since time.Duration) Act {
		if since%period < period/2 {
			return Fail
		}
		return Serve
	}
	return Script{Call: func(since time.Duration, _ uint64) Act { return act(since) }, Probe: act}
}

// chance is a number in [0, 1) that n alone decides. It is the mixing step of
// SplitMix64.
func chance(n uint64) float64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float64((n^n>>31)>>11) / (1 << 53)
}
