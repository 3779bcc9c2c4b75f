package elector

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// After the death of a node there are very many calls. A goroutine for each would need much memory, and a call that is made out of
// its turn leaves others waiting for as long as new ones come.
func TestLedgersAreCalledInTheirOrderByFewGoroutines(t *testing.T) {
	el := MustJoin(t, IsolatedHost(t, new(memberstate.MemStore)), GroupOf("g", "n0"))
	l := ledgers{ready: 3}
	for term := range memberstate.Term(3) {
		l.ask(ledgerCall{el, term})
	}
	assert.Equal(t, 3, l.ready, "no other caller is needed")
	for term := range memberstate.Term(3) {
		c, waits := l.next()
		assert.True(t, waits)
		assert.Equal(t, term, c.term)
	}
}

// However the LedgerEnd of the first group behaves, those that wait behind it are called, and later ones, too.
func TestALedgerKeepsNoOtherWaiting(t *testing.T) {
	var released chan struct{}
	for name, first := range map[string]func(){
		"it returns":            func() {},
		"it hangs":              func() { <-released },
		"it ends its goroutine": runtime.Goexit,
		"it hangs, and ends it": func() { <-released; runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released = make(chan struct{})
				host := IsolatedHost(t, new(memberstate.MemStore))
				var called atomic.Int32
				ledgerOf := func(group string, act func()) ledgerCall {
					c := GroupOf(group, "n0")
					c.LedgerEnd = func(memberstate.Term) memberstate.Position {
						called.Add(1)
						act()
						return memberstate.Position{}
					}
					return ledgerCall{MustJoin(t, host, c), 1}
				}
				l := &host.ledgers
				l.waiting = []ledgerCall{ledgerOf("first", first), ledgerOf("second", func() {}), ledgerOf("third", func() {})}
				l.ask(ledgerOf("fourth", func() {}))
				synctest.Wait()
				assert.EqualValues(t, 4, called.Load())
				l.ask(ledgerOf("fifth", func() {}))
				synctest.Wait()
				assert.EqualValues(t, 5, called.Load())
				close(released)
				synctest.Wait()
				assert.Zero(t, l.ready, "no caller is left")
				assert.Nil(t, l.waiting, "nor room for calls, of which there may have been very many")
			})
		})
	}
}
