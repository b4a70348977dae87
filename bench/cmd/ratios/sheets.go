package main

import (
	"slices"
	"strings"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/bench"
)

// sheet is a group of peers and what is measured of them: one table.
type sheet struct {
	bench.Group
	columns []*column
}

func (s *sheet) index(peer string) int {
	return slices.IndexFunc(s.Peers, func(p bench.Peer) bool { return p.Name == peer })
}

const mostBytes = 1024

// allSheets is everything that we promise about speed and size.
func allSheets(clock *recloser.Clock) []*sheet {
	const coarse = ", coarse clock"
	return []*sheet{
		{bench.Single(clock), []*column{
			{title: "closed, 1 processor", procs: 1, goals: []goal{
				{"recloser Do", ratio, 0.8}, {"recloser Do" + coarse, ratio, 0.3},
			}},
			{title: "closed, 2 processors", procs: 2, goals: []goal{
				{"recloser Do", ratio, 0.65}, {"recloser Do" + coarse, ratio, 0.45},
			}},
			{title: "refused, 1 processor", procs: 1, open: true, goals: []goal{
				{"recloser Do", ratio, 0.55}, {"recloser Do" + coarse, ratio, 0.2},
			}},
			{title: "bytes", bytes: true, goals: []goal{
				{"recloser Do", absolute, mostBytes}, {"recloser Do" + coarse, absolute, mostBytes},
			}},
		}},
		{bench.Keyed(clock), []*column{
			{title: "closed, 1 processor", procs: 1, goals: []goal{{"recloser Set", ratio, 0.65}}},
			{title: "bytes", bytes: true, goals: []goal{{"recloser Set", absolute, mostBytes}}},
		}},
		{bench.InARow(clock), []*column{
			{title: "closed, 1 processor", procs: 1, base: "eapache", goals: []goal{{"recloser Do" + coarse, ratio, 4}}},
		}},
		{bench.BareGuard(), []*column{
			{title: "closed, 1 processor", procs: 1, base: "breaker alone", goals: []goal{{"guard", added, 10}}},
		}},
		{bench.FullGuard(), []*column{
			{title: "closed, 1 processor", procs: 1, base: "failsafe-go stack", goals: []goal{{"guard", ratio, 0.5}}},
		}},
		{bench.Transport(), request([]goal{{"Transport", added, 120}, {"Transport", addedAllocs, 0}})},
		{bench.TransportBody(), request(nil)},
		{bench.Compat(), []*column{
			{title: "closed, 1 processor", procs: 1, base: "gobreaker", goals: []goal{{"compat/gobreaker", ratio, 1}}},
			{title: "closed, 2 processors", procs: 2, base: "gobreaker", goals: []goal{{"compat/gobreaker", ratio, 1}}},
			{title: "refused, 1 processor", procs: 1, base: "gobreaker", open: true, goals: []goal{{"compat/gobreaker", ratio, 1}}},
		}},
	}
}

func request(goals []goal) []*column {
	return []*column{{title: "request", procs: 1, base: "no breaker", goals: goals}}
}

func titles(sheets []*sheet) string {
	var text strings.Builder
	for _, s := range sheets {
		for _, c := range s.columns {
			text.WriteString("  " + s.Name + ": " + c.title + "\n")
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}
