// A node whose process judges all its engines by one function, as by elector.HostConfig.Stalled.
//
// The function asks one engine after the other, so it takes as long as the slowest. It does not wait
// for an engine that hangs, but it may hang itself.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// AskStalled calls the function, if the process has one.
func (n *node) AskStalled(time.Duration) bool {
	w := n.world
	if !w.options.Judged {
		return false
	}
	n.Judging = max(w.now, 1)
	var slowest int64
	for place := range n.members {
		slowest = max(slowest, n.members[place].takes(choice.Health))
	}
	w.after(time.Duration(slowest), enginesJudged, n, n.Incarnation)
	return true
}

// Progress is of no interest here.
func (n *node) Progress(protocol.Progress) {}

// judged is called when the function returns.
func (n *node) judged(incarnation uint32) {
	if !n.Alive || n.Incarnation != incarnation {
		return
	}
	if n.judgeHeld = n.judgeHangs; n.judgeHeld {
		return
	}
	n.Judging, n.JudgedAsleep = 0, n.Paused
	r := protocol.Request{Subject: protocol.Subject{Kind: protocol.TellStalled}}
	for place := range n.members {
		m := &n.members[place]
		if m.engine.named = m.engine.hangs&hangsVouch != 0 || m.engine.flaps.down(n.world.now); m.engine.named {
			r.Stalled = append(r.Stalled, &m.group)
		}
		m.saysUnwell()
	}
	n.ask(r)
}

// hangJudge has the function not return for a while.
func hangJudge(w *world, s *Strike) bool {
	w.struckBy(s).judgeHangs = true
	w.lasting(s, judgeReturns)
	return w.options.Judged
}

// judgeReturns ends that.
func (n *node) judgeReturns() {
	n.judgeHangs = false
	if n.judgeHeld {
		n.judged(n.Incarnation)
	}
}
