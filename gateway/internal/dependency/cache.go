package dependency

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Cache holds what is made once for each dependency of a list. It is safe for concurrent
// use.
type Cache[T any] struct {
	List *List
	Make func(*Dependency) T

	mu  sync.Mutex // for changes of all
	all atomic.Pointer[map[*Dependency]T]
}

// Of returns that of a dependency. It is made when it is first asked for, and then those
// of dependencies that are no more are dropped.
func (c *Cache[T]) Of(d *Dependency) T {
	if t, ok := c.now()[d]; ok {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.now()[d]; ok {
		return t
	}
	all, listed := make(map[*Dependency]T), c.List.All()
	for old, t := range c.now() {
		if slices.Contains(listed, old) {
			all[old] = t
		}
	}
	all[d] = c.Make(d)
	c.all.Store(&all)
	return all[d]
}

func (c *Cache[T]) now() map[*Dependency]T {
	if all := c.all.Load(); all != nil {
		return *all
	}
	return nil
}
