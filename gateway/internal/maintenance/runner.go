package maintenance

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Breakers are what the Runner acts on.
type Breakers interface {
	// Targets returns the dependencies there are now.
	Targets() []Target
	// Override returns what is set for a dependency, nil if nothing is, or if
	// there is no such dependency.
	Override(id string) *recloser.Override
	// Isolate cuts it off until the given time, in place of what was set before.
	Isolate(id, by, why string, until time.Time) error
	// Release takes back what is set.
	Release(id, by, why string)
}

// Notice tells people that a window began or ended.
type Notice struct {
	At     time.Time
	Window Window
	Text   string // one line
}

// Options says what a Runner works with.
type Options struct {
	Breakers Breakers
	Windows  func(context.Context) ([]Window, error) // all there are, from the storage
	Save     func(context.Context, Window) error     // keeps what the Runner changed: Released
	Tell     func(Notice)                            // nil: nobody is told
	Clock    vtime.Clock                             // default vtime.Real
	Log      *slog.Logger                            // nil: nothing is logged
}

// Runner isolates and releases dependencies by the clock. It is safe for
// concurrent use.
type Runner struct {
	o       Options
	cancel  context.CancelFunc
	done    chan struct{}
	inForce atomic.Pointer[map[string]active] // by dependency: the first that is

	mu      sync.Mutex // one Look at a time
	started bool       // what began before the first Look was told before
	windows []Window
	active  map[string]active            // by window
	mine    map[string]recloser.Override // isolations that are ours, by dependency
	theirs  map[string]recloser.Override // what operators have set
}

// active is a window with the occurrence that lasts.
type active struct {
	Window
	at    Occurrence
	until time.Time // To, or later if the next occurrence follows without a gap
}

const (
	lookEvery = time.Second // bounds how late the Runner notices what an operator did
	lookIdle  = time.Minute // while no window is in force; then only a clock that was set can surprise it
)

// New returns a Runner that does nothing before Start.
func New(o Options) *Runner {
	if o.Clock == nil {
		o.Clock = vtime.Real{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tell == nil {
		o.Tell = func(Notice) {}
	}
	return &Runner{
		o: o, cancel: func() {}, done: make(chan struct{}), active: map[string]active{},
		mine: map[string]recloser.Override{}, theirs: map[string]recloser.Override{},
	}
}

// Start looks at once, so that what is planned for now is in force when it
// returns, and starts a goroutine that goes on looking by the clock. Call it once,
// and Stop later.
func (r *Runner) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.Look(ctx)
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
}

// Stop ends it. What is isolated stays so until its end: a restart is no
// reason to let calls pass.
func (r *Runner) Stop() {
	r.cancel()
	<-r.done
}

func (r *Runner) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.o.Clock.Wait(ctx, r.Look(ctx), nil)
	}
}

// Covers reports whether a window is in force for a dependency, whatever its
// effect: then nobody is sent messages about it.
func (r *Runner) Covers(id string) bool {
	_, _, ok := r.Of(id)
	return ok
}

// Of returns the window in force for a dependency, and when that ends; of several
// one that cuts off, and of those the one that ends last. It reports false if there
// is none.
func (r *Runner) Of(id string) (w Window, until time.Time, ok bool) {
	all := r.inForce.Load()
	if all == nil {
		return Window{}, time.Time{}, false
	}
	a, ok := (*all)[id]
	if !ok || !r.o.Clock.Now().Before(a.until) {
		return Window{}, time.Time{}, false
	}
	return a.Window, a.until, true
}

// actor is how the names begin in which the Runner acts.
const actor = "maintenance "

// by is who isolates for a window.
func (w *Window) by() string { return actor + w.Name }

// Acted reports whether by is a name in which a Runner acts.
func Acted(by string) bool { return strings.HasPrefix(by, actor) }

// By is who did something for that reason: of a Runner without the window's name if the
// reason is its name.
func By(by, reason string) string {
	if by == actor+reason {
		return strings.TrimSpace(actor)
	}
	return by
}
