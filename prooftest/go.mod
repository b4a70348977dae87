module github.com/recloser-go/recloser/prooftest

go 1.26

require github.com/recloser-go/recloser v0.1.0

replace github.com/recloser-go/recloser => ../
