package ask_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
)

// What the members of an ask have answered is let go of with it, and not when the time
// would be up that they had.
func TestAnswersAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		b := newBench(t, []gatewaytest.Behaviour{gatewaytest.Answer(http.StatusOK, `"`+strings.Repeat("x", size-2)+`"`)})
		inUse := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		b.ask()
		before := inUse()
		for range 20 {
			b.ask()
		}
		if more := int64(inUse() - before); more > 5*size {
			t.Errorf("%d answers of 1 MiB are still held", more/size)
		}
	})
}
