module github.com/recloser-go/recloser/prooftest

go 1.26

require github.com/recloser-go/recloser v0.1.0

require go.uber.org/goleak v1.3.0

require github.com/sony/gobreaker/v2 v2.4.0

require pgregory.net/rapid v1.3.0

replace github.com/recloser-go/recloser => ../
