package gateway

import "runtime/debug"

// Version is what the Go toolchain knows about this program: the tag it was installed
// by, or the commit it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
