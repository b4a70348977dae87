package gateway

import (
	"net"

	"golang.org/x/sys/unix"
)

// mostUnsent is how many bytes for a client wait in the kernel that are not on their way.
const mostUnsent = 128 << 10

// limitUnsent keeps the kernel from gathering megabytes for a client: it wakes who writes
// only once a third of them is gone, and one that reads slowly would look as if it had
// stopped.
func limitUnsent(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, mostUnsent) // an old kernel has none
	})
}
