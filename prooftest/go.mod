module github.com/recloser-go/recloser/prooftest

go 1.26

require github.com/recloser-go/recloser v0.1.0

require go.uber.org/goleak v1.3.0

replace github.com/recloser-go/recloser => ../
