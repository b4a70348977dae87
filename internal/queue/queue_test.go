package queue

import "testing"

func TestQueue(t *testing.T) {
	var q Queue
	if q.Next() {
		t.Error("nobody waits, and somebody got a turn")
	}
	turns := []<-chan struct{}{q.Join(), q.Join(), q.Join()}
	has := func(i int) bool { return len(turns[i]) == 1 }
	if !q.Leave(turns[1]) || q.Leave(turns[1]) || q.Len() != 2 {
		t.Errorf("after one has left %d wait, want 2", q.Len())
	}
	if !q.Next() || !has(0) || has(2) {
		t.Error("the first turn is not that of the first who came")
	}
	if q.Leave(turns[0]) {
		t.Error("who had his turn already has left without it")
	}
	if !q.Next() || has(1) || !has(2) || q.Next() || q.Len() != 0 {
		t.Error("the second turn is not that of the other who waits, or there is a third")
	}
}
