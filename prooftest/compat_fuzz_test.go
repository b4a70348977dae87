package prooftest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	ours "github.com/recloser-go/recloser/compat/gobreaker"
)

// compatSettings are what the two libraries are compared with.
var compatSettings = []ours.Settings{
	{},
	{Name: "hotel-3", MaxRequests: 3, Timeout: 2 * time.Second},
	{Interval: 3 * time.Second, Timeout: time.Second, MaxRequests: 2, ReadyToTrip: halfFailed},
	{Interval: 5 * time.Second, BucketPeriod: time.Second, Timeout: 3 * time.Second, ReadyToTrip: halfFailed},
	{Interval: 4500 * time.Millisecond, BucketPeriod: 2 * time.Second, MaxRequests: 5, ReadyToTrip: halfFailed},
	{Interval: time.Second, BucketPeriod: 4 * time.Second, ReadyToTrip: halfFailed},
	{Interval: 2 * time.Second, BucketPeriod: 100 * time.Millisecond, Timeout: time.Second, IsSuccessful: func(err error) bool { return err == nil || err.Error() == "oops" }, ReadyToTrip: halfFailed},
	{Interval: 10 * time.Second, BucketPeriod: 2 * time.Second}, // by rows, see compatPair.end
}

func halfFailed(c ours.Counts) bool {
	return c.Requests >= 4 && c.TotalFailures*2 >= c.Requests
}

// compatPair does the same to both libraries, and fails where they differ.
type compatPair struct {
	t        *testing.T
	settings ours.Settings
	us, them *compatSide
	running  []compatCall
	state    string // in two steps, when both were compared last
	late     bool   // an end was booked in an older bucket since the state changed, so rows may differ
	changes  int    // of state, when late was set
	step     int
}

// compatCall is a call in two steps that runs in both libraries.
type compatCall struct {
	us, them func(error)
	at       time.Time
	changes  int // of state, before it
}

func newCompatPair(t *testing.T, st ours.Settings) *compatPair {
	st.IsExcluded = func(err error) bool { return errors.Is(err, errOdd) }
	return &compatPair{t: t, settings: st, us: ourSide(st), them: theirSide(st)}
}

func (p *compatPair) same(what string, us, them any) {
	p.t.Helper()
	if !reflect.DeepEqual(us, them) {
		p.t.Fatalf("step %d, %s: recloser %v, gobreaker %v", p.step, what, us, them)
	}
}

// compare compares all that can be seen. The state is asked for before the
// counts, as gobreaker counts on where nobody asks.
func (p *compatPair) compare() {
	p.t.Helper()
	usState, usCounts := p.us.one()
	themState, themCounts := p.them.one()
	p.same("state", usState, themState)
	p.same("counts", usCounts, themCounts)
	usState, usCounts = p.us.two()
	themState, themCounts = p.them.two()
	p.same("state in two steps", usState, themState)
	p.state = usState
	if p.late = p.late && p.changes == len(p.us.twoLog.lines); p.late {
		usCounts.ConsecutiveFailures, usCounts.ConsecutiveSuccesses = 0, 0
		themCounts.ConsecutiveFailures, themCounts.ConsecutiveSuccesses = 0, 0
	}
	p.same("counts in two steps", usCounts, themCounts)
	p.same("changes", p.us.oneLog.lines, p.them.oneLog.lines)
	p.same("changes in two steps", p.us.twoLog.lines, p.them.twoLog.lines)
}

// text is what can be compared of an error: each library has its own.
func text(err error) string { return fmt.Sprint(err) }

// execute makes a call in one step that ends with err, or with a panic.
func (p *compatPair) execute(err error, panics bool) {
	call := func(s *compatSide) (seen string) {
		defer func() {
			if value := recover(); value != nil {
				seen = fmt.Sprint("panic: ", value)
			}
		}()
		value, err := s.execute(func() (int, error) {
			if panics {
				panic("oops")
			}
			return 7, err
		})
		return fmt.Sprint(value, err)
	}
	p.same("result", call(p.us), call(p.them))
}

func (p *compatPair) allow() {
	us, refused := p.us.allow()
	them, refusedThem := p.them.allow()
	p.same("refusal", text(refused), text(refusedThem))
	if refused == nil {
		p.running = append(p.running, compatCall{us, them, time.Now(), len(p.us.twoLog.lines)})
	}
}

// end ends a call. Rows differ where it began in an older bucket, so where the
// default rule goes by rows such a call is lost instead.
func (p *compatPair) end(i int, err error) {
	call := p.running[i]
	p.running = slices.Delete(p.running, i, i+1)
	counts := p.state == "closed" && call.changes == len(p.us.twoLog.lines)
	if counts && p.settings.BucketPeriod > 0 && p.bucket(call.at) != p.bucket(time.Now()) {
		if p.settings.ReadyToTrip == nil {
			return
		}
		p.late, p.changes = true, len(p.us.twoLog.lines)
	}
	call.us(err)
	call.them(err)
}

func (p *compatPair) bucket(at time.Time) time.Duration {
	return at.Sub(p.us.twoLog.last) / p.settings.BucketPeriod
}

// advance lets time pass, but not so long that a trial loses its place: there
// the libraries differ.
func (p *compatPair) advance(d time.Duration) {
	if p.state == "half-open" {
		timeout := p.settings.Timeout
		if timeout == 0 {
			timeout = time.Minute
		}
		for _, call := range p.running {
			if call.changes == len(p.us.twoLog.lines) {
				d = min(d, timeout-time.Since(call.at))
			}
		}
	}
	if d > 0 {
		wait(d)
	}
}

// do does what a byte says: its high bits are the act, its low bits how.
func (p *compatPair) do(op byte) {
	how := int(op & 31)
	results := []error{nil, errDown, errOdd, errDown}
	switch op >> 5 {
	case 0, 1:
		p.execute(results[how%4], how == 31)
		p.same("refusal", text(p.us.twoStep(results[how%4])), text(p.them.twoStep(results[how%4])))
	case 2:
		p.execute(errDown, false)
	case 3:
		if len(p.running) < 16 {
			p.allow()
		}
	case 4, 5:
		if op>>5 == 5 { // before anybody looks
			p.advance(p.settings.Interval + 1)
		}
		if len(p.running) > 0 {
			p.end(how%len(p.running), results[op>>3&3])
		}
	case 6:
		p.advance(time.Duration(how*how) * 10 * time.Millisecond)
	default: // to the very moment at which something is due, and past it
		moments := []time.Duration{p.settings.Timeout, p.settings.Interval, p.settings.BucketPeriod, time.Minute}
		p.advance(moments[how%4] + time.Duration(how>>2&1))
	}
}

func compareCompat(t *testing.T, settings int, ops []byte) {
	synctest.Test(t, func(t *testing.T) {
		p := newCompatPair(t, compatSettings[settings%len(compatSettings)])
		p.compare()
		for i, op := range ops {
			p.step = i
			p.do(op)
			p.compare()
		}
	})
}

func TestCompatBehavesAsGobreaker(t *testing.T) {
	for settings := range compatSettings {
		t.Run(fmt.Sprint(settings), func(t *testing.T) {
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, uint64(settings)))
				ops := make([]byte, 300)
				for i := range ops {
					ops[i] = byte(r.Uint32())
				}
				compareCompat(t, settings, ops)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// FuzzCompat does the same to both libraries: a byte chooses the settings, each
// further one is an act.
func FuzzCompat(f *testing.F) {
	f.Add(byte(0), []byte{})
	f.Fuzz(func(t *testing.T, settings byte, ops []byte) {
		compareCompat(t, int(settings), ops[:min(len(ops), 400)])
	})
}
