package recloser_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/model"
)

// replay runs a sequence and returns what the engine did otherwise than the model.
func replay(t *testing.T, cfg recloser.Config, ops []model.Op) error {
	t.Helper()
	p, err := model.NewPair(t.Context(), cfg)
	if err != nil {
		return err
	}
	p.Crowd = recloser.Crowd
	return p.Run(ops)
}

func check(t *testing.T, from any, cfg recloser.Config, ops []model.Op) {
	t.Helper()
	if replay(t, cfg, ops) == nil {
		return
	}
	ops = shrink(ops, func(ops []model.Op) bool { return replay(t, cfg, ops) != nil })
	var steps strings.Builder
	for _, o := range ops {
		fmt.Fprintln(&steps, o)
	}
	t.Fatalf("from %v, %+v\n%s%v", from, cfg, &steps, replay(t, cfg, ops))
}

// The engine does what the model does, whatever comes.
func TestBreakerAgainstModel(t *testing.T) {
	for seed := range uint64(1500) {
		cfg, ops := draw(rand.New(rand.NewPCG(seed, 0)))
		check(t, seed, cfg, ops)
	}
}

// FuzzBreakerAgainstModel is the same for what the bytes say, see drawFrom.
func FuzzBreakerAgainstModel(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		cfg, ops := drawFrom(bytes)
		check(t, "bytes", cfg, ops)
	})
}
