package config

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"slices"
)

// Dependency reads a dependency that is added at run time. Its definition is a
// mapping in JSON or YAML with the keys that a dependency has in a file, on top of
// c's own defaults. The error is of type Errors, with lines and columns of the
// definition.
func (c *Config) Dependency(id string, definition []byte) (Dependency, error) {
	if json.Valid(definition) {
		definition = bytes.ReplaceAll(definition, []byte{'\t'}, []byte{' '}) // YAML takes none between its words
	}
	s := newReading()
	s.own = c.own()
	name := "definition"
	if dependencyID.MatchString(id) {
		name += " of " + id
	}
	r, body := s.open(name, definition, "write at least url:")
	var d Dependency
	if body != nil {
		d = r.dependency(entry{body, id, body}, c.defaults)
	}
	if n, ok := r.written("url"); ok {
		if ip, err := netip.ParseAddr(d.URL.Hostname()); err == nil && !c.Admin.MayTarget(ip) {
			r.fault(n, "write it into the config file, or its range into admin.allow_targets there",
				"%s is a link-local or metadata address, which nobody may add at run time", d.URL.Hostname())
		}
	}
	if faults := s.all(); len(faults) > 0 {
		return Dependency{}, faults
	}
	return d, nil
}

// MayTarget reports whether a dependency that is added at run time may be at an
// address: a link-local one and those of clouds' metadata services answer to this
// machine what they answer to no other. Names must be asked for once they are
// resolved.
func (a Admin) MayTarget(ip netip.Addr) bool {
	ip = ip.WithZone("").Unmap()
	if translated.Contains(ip) { // the last four bytes are of IPv4
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast() && !slices.Contains(metadata(), ip) {
		return true
	}
	return slices.ContainsFunc(a.AllowTargets, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// translated is what NAT64 makes IPv4 of.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// metadata are addresses of metadata services that are not link-local.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"),   // AWS
		netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
		netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
		netip.MustParseAddr("168.63.129.16"),   // Azure
	}
}
