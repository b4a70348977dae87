//go:build !linux

package gateway

import "net"

// limitUnsent does nothing: this is Linux's own.
func limitUnsent(net.Conn) {}
