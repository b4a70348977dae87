package prooftest

import (
	"errors"
	"testing"
	"time"

	theirs "github.com/sony/gobreaker/v2"

	ours "github.com/recloser-go/recloser/compat/gobreaker"
)

// compatBreaker is what the benchmarks need of either library.
type compatBreaker struct {
	name    string
	execute func(func() (int, error)) (int, error)
	allow   func() (func(error), error)
}

// compatBreakers returns a breaker of each library, and of each of its types.
func compatBreakers(st ours.Settings) [2]compatBreaker {
	converted := theirSettings(st)
	return [2]compatBreaker{
		{"recloser", ours.NewCircuitBreaker[int](st).Execute, ours.NewTwoStepCircuitBreaker[int](st).Allow},
		{"sony", theirs.NewCircuitBreaker[int](converted).Execute, theirs.NewTwoStepCircuitBreaker[int](converted).Allow},
	}
}

// BenchmarkCompat compares what a call costs in both libraries, in each state.
func BenchmarkCompat(b *testing.B) {
	never := func(ours.Counts) bool { return false }
	always := func(ours.Counts) bool { return true }
	cases := []struct {
		name     string
		settings ours.Settings
		before   error // how a first call ends; nil: it is not made
		result   error
		refused  bool
	}{
		{name: "closed", settings: ours.Settings{}},
		{name: "closed-interval", settings: ours.Settings{Interval: time.Minute}},
		{name: "closed-buckets", settings: ours.Settings{Interval: 10 * time.Second, BucketPeriod: time.Second}},
		{name: "closed-fails", settings: ours.Settings{Interval: time.Minute, ReadyToTrip: never}, result: errDown},
		{name: "open", settings: ours.Settings{Timeout: time.Hour, ReadyToTrip: always}, before: errDown, refused: true},
		// Excluded calls keep it half-open.
		{name: "half-open", settings: ours.Settings{MaxRequests: 100, Timeout: 1, ReadyToTrip: always, IsExcluded: func(err error) bool { return errors.Is(err, errOdd) }}, before: errDown, result: errOdd},
	}
	for _, c := range cases {
		each := func(kind string, call func(compatBreaker) error) {
			for _, breaker := range compatBreakers(c.settings) {
				if c.before != nil {
					end(b, breaker, c.before)
				}
				b.Run("state="+c.name+"/call="+kind+"/peer="+breaker.name, func(b *testing.B) {
					b.ReportAllocs()
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							if err := call(breaker); !errors.Is(err, c.result) && !c.refused {
								b.Error(err)
							}
						}
					})
				})
			}
		}
		fn := func() (int, error) { return 1, c.result }
		each("execute", func(breaker compatBreaker) error {
			_, err := breaker.execute(fn)
			return err
		})
		each("allow", func(breaker compatBreaker) error {
			done, err := breaker.allow()
			if err == nil {
				done(c.result)
				return c.result
			}
			return err
		})
	}
}

// end makes a call of each kind that ends with err.
func end(b *testing.B, breaker compatBreaker, err error) {
	b.Helper()
	if _, got := breaker.execute(func() (int, error) { return 0, err }); !errors.Is(got, err) {
		b.Fatal(got)
	}
	done, refusal := breaker.allow()
	if refusal != nil {
		b.Fatal(refusal)
	}
	done(err)
}
