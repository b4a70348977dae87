package main

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// added is a dependency that was added while a gateway ran.
type added struct {
	config.Dependency
	fault error // why it is not in force
}

// addedDependencies returns those there are and who says so: the storage or, if that
// cannot be read, the gateway that runs.
func addedDependencies(ctx context.Context, c *config.Config) (all []added, from string, err error) {
	if c.Storage.Path != "" {
		if all, err = storedDependencies(ctx, c); err == nil {
			return all, c.Storage.Path, nil
		}
	}
	api := adminURL(c)
	all, unheard := toldDependencies(ctx, c, api)
	switch failure, _ := errors.AsType[*client.Error](unheard); {
	case unheard == nil:
		return all, "the gateway at " + api, nil
	case err == nil && failure != nil && failure.Kind == client.Unreachable:
		return nil, "", nil // no gateway runs, and nothing is kept without one
	}
	return nil, "", errors.Join(err, unheard)
}

func storedDependencies(ctx context.Context, c *config.Config) (all []added, err error) {
	definitions, err := history.DependenciesIn(ctx, c.Storage.Path)
	if err != nil {
		return nil, err
	}
	ofFile := make(map[string]bool)
	for _, d := range c.Dependencies {
		ofFile[d.ID] = true
	}
	for _, d := range definitions {
		if ofFile[d.ID] {
			continue // the file takes it over
		}
		is, err := c.Dependency(d.ID, d.Definition)
		is.ID = d.ID
		all = append(all, added{is, err})
	}
	return all, nil
}

// toldDependencies asks the gateway. What it tells has no probes in it.
func toldDependencies(ctx context.Context, c *config.Config, api string) (all []added, err error) {
	at := connection{server: api}
	if c.Admin.TLS != nil {
		at.ca = c.Admin.TLS.Cert // it may be vouched for by nobody else
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	_, seen, err := at.fetch(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range seen.all {
		if d.Value.Origin != "api" {
			continue
		}
		is := added{Dependency: config.Dependency{ID: d.Value.ID}}
		is.URL, is.fault = url.Parse(d.Value.URL)
		all = append(all, is)
	}
	return all, nil
}

// adminURL is where the gateway of a config is asked on this machine.
func adminURL(c *config.Config) string {
	if c.Admin.URL != "" {
		return c.Admin.URL
	}
	u := url.URL{Scheme: "http", Host: c.Admin.Listen}
	if c.Admin.TLS != nil {
		u.Scheme = "https"
	}
	if _, port, err := net.SplitHostPort(c.Admin.Listen); err == nil { // it names no host, else there were a URL
		u.Host = net.JoinHostPort("localhost", port)
	}
	return u.String()
}
