package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// resolveFor is how long a name may take to be looked up. One that cannot be is
// let through: the addresses are looked at again whenever it is connected to.
const resolveFor = 2 * time.Second

// metadataNames are those of cloud metadata services, where a machine gets its
// credentials from.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal", "metadata.tencentyun.com",
}

// checkTarget refuses the URL of a dependency added at run time if it could make
// the gateway speak to what only the machine itself is meant to. The config has
// looked at one that names an address; here names are looked up.
func (a *api) checkTarget(ctx context.Context, u *url.URL) error {
	c := a.Config()
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addrs, err := a.addresses(ctx, host)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		if !c.Admin.MayTarget(addr) {
			return fmt.Errorf("%s is at %s, a link-local or metadata address, which nobody may add at run time: write it into the config file, or its range into admin.allow_targets there", host, addr)
		}
	}
	if slices.Contains(metadataNames, host) && len(c.Admin.AllowTargets) == 0 {
		return fmt.Errorf("%s is the name of a cloud's metadata service: put its address into admin.allow_targets if that is meant", host)
	}
	return a.notOwn(c, u, host, addrs)
}

// addresses returns those of a host; none if its name cannot be looked up.
func (a *api) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	// 2130706433, 0x7f.1 and 0177.0.0.1 are addresses to some resolvers.
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return nil, errors.New("names a host by a number that is no address: write the address as 10.0.0.7, or a name")
	}
	ctx, cancel := context.WithTimeout(ctx, resolveFor)
	defer cancel()
	addrs, err := a.lookup(ctx, "ip", host)
	if err != nil {
		return nil, nil //nolint:nilerror // it is looked at when connecting
	}
	return addrs, nil
}

// notOwn refuses the gateway's own listeners: it would call itself for ever, or let
// callers act as an operator of this machine.
func (a *api) notOwn(c *config.Config, u *url.URL, host string, addrs []netip.Addr) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for _, listen := range []string{c.Listen, c.Admin.Listen} {
		on, ownPort, err := net.SplitHostPort(listen)
		if err != nil || port != ownPort {
			continue
		}
		own := strings.EqualFold(on, host) || config.IsLoopback(host)
		for _, addr := range addrs {
			own = own || ofThisMachine(addr.Unmap())
		}
		if own {
			return fmt.Errorf("%s is where the gateway itself listens", u.Host)
		}
	}
	return nil
}

func ofThisMachine(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == addr {
			return true
		}
	}
	return false
}
