module github.com/recloser-go/recloser/gateway

go 1.26.0

require github.com/recloser-go/recloser v0.1.0

replace github.com/recloser-go/recloser => ../

require github.com/recloser-go/recloser/prombreaker v0.1.0

require (
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
)

replace github.com/recloser-go/recloser/prombreaker => ../prombreaker
