package config

// Setting is one value in force.
type Setting struct {
	Path   string `json:"path"`   // such as "dependencies.hotel-1.breaker.slow_call"
	Value  string `json:"value"`  // as it is written in a file; "***" if it is a secret
	Origin string `json:"origin"` // "file:line", "environment NAME" or another override's, or "default"
}

// Show returns every setting in force, in the order of the documentation, with
// where it comes from. Secrets are masked. What is off by not being there, such
// as a probe, is not shown.
func (c *Config) Show() []Setting {
	var all []Setting
	showAll(c.keys(), "", func(l leaf) { all = append(all, Setting{l.path, l.text, c.origin(l)}) })
	return all
}

func (c *Config) origin(l leaf) string {
	for _, path := range []string{l.path, l.inherits} {
		if o, ok := c.origins[path]; ok {
			return o
		}
	}
	return "default"
}
