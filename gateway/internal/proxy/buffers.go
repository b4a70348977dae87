package proxy

import "sync"

// bufferSize is what io.Copy takes too.
const bufferSize = 32 << 10

// buffers lends the buffers through which bodies flow.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	return b.pool.Get().(*[bufferSize]byte)[:]
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) {
	b.pool.Put((*[bufferSize]byte)(buf)) // a pointer: putting a slice would allocate
}
