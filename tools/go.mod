module github.com/recloser-go/recloser/tools

go 1.26
