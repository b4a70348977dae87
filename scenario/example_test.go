package scenario_test

import (
	"context"
	"fmt"
	"os"

	"github.com/recloser-go/recloser/scenario"
)

func Example() {
	const file = `settings  consecutive=3 open_for=10s jitter=off

0s   3 times: call -> fail
     expect open, retry after 5s
10s  expect half-open
`
	s, err := scenario.Parse("outage.scenario", []byte(file))
	if err != nil {
		fmt.Println(err) // every mistake in it, with its place
		return
	}
	result, err := s.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = scenario.WriteText(os.Stdout, []*scenario.Result{result})
	// Output:
	// FAIL  outage  (3 expectations, 10s of virtual time)
	//
	//   outage.scenario:4, at 0s
	//       expect open, retry after 5s
	//   want     retry after 5s
	//   seen     10s
	//   breaker  open (cut off): 3 bad calls in a row; trials in 10s; last failure: down
	//
	// 0 of 1 scenario good: 3 expectations, 10s of virtual time
}
