//go:build unix

package fleet_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/recloser-go/recloser/fleet/redisstore/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// gobreakerTown has gobreaker's distributed breaker, which trips on no few failures.
func gobreakerTown(b *testing.B, server *redistest.Server, nodes int) (t town) {
	for range nodes {
		client := redis.NewClient(&redis.Options{Addr: server.Addr})
		b.Cleanup(func() { _ = client.Close() })
		s := &sharedData{client: client, locks: redsync.New(goredis.NewPool(client))}
		hotel, err := gobreaker.NewDistributedCircuitBreaker[struct{}](s, gobreaker.Settings{
			Name:        "hotel",
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= many },
		})
		if err != nil {
			b.Fatal(err)
		}
		t.nodes = append(t.nodes, func(work func() error) error {
			_, err := hotel.Execute(func() (struct{}, error) { return struct{}{}, work() })
			return err
		})
	}
	t.counted = func() int {
		var state gobreaker.SharedState
		text, _ := server.Do("get", "gobreaker:state:hotel").(string)
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			b.Fatalf("%q: %v", text, err)
		}
		return int(state.Counts.TotalFailures)
	}
	return t
}

// sharedData does what gobreaker's own store for Redis does, of which no version is published: redsync for
// the lock, GET and SET for the state, both with a client of go-redis as it comes. That one breaks if
// calls of one process meet; here they wait for each other.
type sharedData struct {
	client *redis.Client
	locks  *redsync.Redsync

	turn sync.Mutex // of the process's calls, from Lock to Unlock
	held *redsync.Mutex
}

var _ gobreaker.SharedDataStore = (*sharedData)(nil)

func (s *sharedData) Lock(name string) error {
	s.turn.Lock()
	s.held = s.locks.NewMutex(name, redsync.WithExpiry(5*time.Second))
	err := s.held.Lock()
	if err != nil {
		s.turn.Unlock()
	}
	return err
}

func (s *sharedData) Unlock(string) error {
	defer s.turn.Unlock()
	_, err := s.held.Unlock() // ok or an error
	return err
}

func (s *sharedData) GetData(name string) ([]byte, error) {
	return s.client.Get(context.Background(), name).Bytes()
}

func (s *sharedData) SetData(name string, data []byte) error {
	return s.client.Set(context.Background(), name, data, 0).Err()
}
