module github.com/recloser-go/recloser/prombreaker

go 1.26.0

require github.com/recloser-go/recloser v0.1.0

require github.com/prometheus/client_golang v1.25.0 // indirect

replace github.com/recloser-go/recloser => ../
