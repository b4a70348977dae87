package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// stand is a gateway's worth of breakers on virtual time, with a storage.
type stand struct {
	t       *testing.T
	v       *vtime.Virtual
	clock   *recloser.Clock
	all     map[string]*recloser.Breaker
	targets map[string]Target
	windows map[string]Window
	broken  bool // the storage
	told    []string
	runner  *Runner
	cancel  context.CancelFunc
}

func newStand(t *testing.T, ids ...string) *stand {
	s := &stand{
		t: t, v: vtime.NewVirtual(noon), clock: recloser.NewManualClock(noon),
		all: map[string]*recloser.Breaker{}, targets: map[string]Target{}, windows: map[string]Window{},
	}
	s.v.OnMove(s.clock.Advance)
	for _, id := range ids {
		s.add(Target{ID: id})
	}
	s.start()
	return s
}

func (s *stand) add(target Target) {
	b, err := recloser.New(recloser.Config{Name: target.ID, Clock: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	s.all[target.ID], s.targets[target.ID] = b, target
}

// start starts a runner; restart is a new one, and new breakers.
func (s *stand) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	s.runner = New(Options{
		Breakers: s, Clock: s.v, Tell: func(n Notice) { s.told = append(s.told, n.Text) },
		Windows: func(context.Context) ([]Window, error) {
			if s.broken {
				return nil, errors.New("broken")
			}
			var all []Window
			for _, id := range slices.Sorted(maps.Keys(s.windows)) {
				all = append(all, s.windows[id])
			}
			return all, nil
		},
		Save: func(_ context.Context, w Window) error {
			if s.broken {
				return errors.New("broken")
			}
			s.windows[w.ID] = w
			return nil
		},
	})
	s.v.Go(func() { s.runner.run(ctx) })
	s.v.Run(0)
}

func (s *stand) restart() {
	s.cancel()
	s.v.Run(0)
	for id, b := range s.all {
		saved := b.Save()
		s.add(s.targets[id])
		if err := s.all[id].Restore(saved); err != nil {
			s.t.Fatal(err)
		}
	}
	s.start()
}

func (s *stand) Targets() []Target {
	var all []Target
	for _, id := range slices.Sorted(maps.Keys(s.targets)) {
		all = append(all, s.targets[id])
	}
	return all
}

func (s *stand) Override(id string) *recloser.Override {
	if b := s.all[id]; b != nil {
		return b.Stats().Override
	}
	return nil
}

func (s *stand) Isolate(id, by, why string, until time.Time) error {
	return s.all[id].Isolate(by, why, until)
}

func (s *stand) Release(id, by, why string) { s.all[id].Release(by, why) }

// put keeps a window, as the API does.
func (s *stand) put(w Window) {
	s.t.Helper()
	w.ID, w.By = w.Name, "ops"
	if w.Effect == "" {
		w.Effect = CutOff
	}
	if w.Reason == "" {
		w.Reason = "works"
	}
	if err := w.Validate(); err != nil {
		s.t.Fatal(err)
	}
	w.Released = s.windows[w.ID].Released
	s.windows[w.ID] = w
}

// is says who has set what: "isolated by maintenance night", "closed".
func (s *stand) is(id string) string {
	st := s.all[id].Stats()
	if st.Override == nil {
		return st.State.String()
	}
	return st.Override.State.String() + " by " + st.Override.By
}

// after lets time pass and checks what a dependency is then.
func (s *stand) after(d time.Duration, id, want string) {
	s.t.Helper()
	s.v.Run(d)
	if got := s.is(id); got != want {
		s.t.Errorf("%s, at %s: %q, want %q", id, s.v.Now().Format("Mon 15:04:05"), got, want)
	}
}

func (s *stand) wasTold(want ...string) {
	s.t.Helper()
	got := slices.Clone(s.told)
	for i, text := range got {
		got[i], _, _ = strings.Cut(strings.TrimPrefix(text, "maintenance "), ",")
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("told %q, want %q", got, want)
	}
	s.told = nil
}
