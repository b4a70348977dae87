package config

import _ "embed"

//go:embed example.yaml
var example string

// Example returns a commented file to begin with.
func Example() string { return example }
