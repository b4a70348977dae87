package main

import (
	"runtime"

	"github.com/recloser-go/recloser/bench"
)

const heapBreakers, heapCalls = 10_000, 20

// heap returns the bytes of heap that a breaker in use takes, with what its set
// needs for it if it has one.
func heap(p bench.Peer) float64 {
	var before, after runtime.MemStats
	perPeer := max(1, p.Keys)
	list := make([]bench.Breaker, heapBreakers/perPeer)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range list {
		list[i] = p.New()
		for range heapCalls * perPeer {
			_ = list[i].Succeed()
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(list)
	return float64(after.HeapAlloc-before.HeapAlloc) / heapBreakers
}
