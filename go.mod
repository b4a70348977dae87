module github.com/recloser-go/recloser

go 1.25
