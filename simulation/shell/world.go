// This file has the world of hosts: its network, and its course from trouble to calm to the end.

package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// world is one run.
type world struct {
	*base
	options Options
	plan    *plan
	judge   *judge
	net     *rpc.Network
	nodes   []*node

	// mu guards these fields, too.
	links [][]rpc.Link
	echo  bool
}

// run runs a world of hosts in a bubble.
func run(o Options, moves *atomic.Uint64) *Result {
	p := draw(o.Seed)
	w := &world{base: newBase(random(o.Seed, "world"), moves), options: o, plan: p, judge: newJudge(o.Seed, p, o.Tell), net: rpc.NewNetwork(o.Seed)}
	for i, rate := range p.rates {
		n := &node{world: w, index: i, name: nodeName(i), rate: rate, random: random(o.Seed, nodeName(i)), ledgers: make([]*ledger, len(p.groups))}
		n.disk = newDisk(random(o.Seed, "disk of "+n.name))
		for g, group := range p.groups {
			if slices.Contains(group.nodes(), i) {
				n.ledgers[g] = new(ledger)
			}
		}
		w.nodes = append(w.nodes, n)
		w.links = append(w.links, make([]rpc.Link, len(p.rates)))
	}
	w.weather(false)
	w.describe()
	for _, n := range w.nodes {
		w.work.Go(n.live)
	}
	w.work.Go(w.watchOver)
	w.torment(w.plan.trouble, w.plan.longest, w.judge.failed, w.strike)
	close(w.calm)
	w.heal()
	w.converge()
	w.handOver()
	w.maintain()
	close(w.over)
	w.judge.ends(w.end(100*p.longest + time.Minute))
	j := w.judge
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.result(Votes)
	r.Messages = j.messages
	for _, h := range j.groups {
		r.Elections += uint64(len(h.leaders))
	}
	return r
}

// describe notes the plan of the world in the story.
func (w *world) describe() {
	for i, rate := range w.plan.rates {
		w.judge.tell("n%d: its clock runs at %.4f", i, rate)
	}
	for _, g := range w.plan.groups {
		var ids []string
		for _, m := range g.members {
			id := m.ID
			if m.Observer {
				id = "(" + id + ")"
			}
			ids = append(ids, id)
		}
		w.judge.tell("%s: members %s; heartbeat %v, leak %d; leases %t, pre-vote %t, ranks %t, preferred %v; Lead %t, Pause %t, slow %t",
			g.name, strings.Join(ids, " "), g.timing.Heartbeat, g.timing.Leak, g.leases, !g.noPreVote, !g.noRanks, g.preferred, g.lead, g.pause, g.slow)
	}
}

// watchOver makes the judge look at all members now and then.
func (w *world) watchOver() {
	for !w.isOver() {
		w.sleep(1 + w.drawn(w.plan.beat))
		w.judge.look(w)
		w.moves.Add(1)
	}
}

// patience bounds how long a group takes to elect after the last fault, from any state, with
// preferred members and promises of old leases. A disk may still be busy with a sync that began
// before.
func (p *plan) patience(g *groupPlan) time.Duration {
	t := &g.timing
	return 4*p.longest + 40*(t.Detection()+t.MaxVoteWait+t.RoundTimeout) + 10*time.Second
}

// converge waits until all groups have a leader that serves, and checks that none takes too long.
func (w *world) converge() {
	began := time.Now()
	missing := make([]string, len(w.plan.groups))
	for {
		left := false
		for i, g := range w.plan.groups {
			missing[i] = w.lacks(g)
			late := missing[i] != "" && time.Since(began) > w.plan.patience(g)
			w.judge.check(Found, !late, "n* "+g.name, "%v after the last fault: %s", time.Since(began), missing[i])
			left = left || missing[i] != ""
		}
		if !left || w.broken() {
			return
		}
		w.sleep(w.plan.beat)
	}
}

// handOver orders every group with at least two voters to hand over, and waits until it has.
// Without faults some attempt succeeds, and the named voter leads.
func (w *world) handOver() {
	var all sync.WaitGroup
	for _, g := range w.plan.groups {
		if len(g.voters) > 1 && !w.broken() {
			all.Go(func() { w.handOverOnce(g) })
		}
	}
	all.Wait()
}

// heir is a voter to hand over to. Held says that there is none, because all others were not able to lead a while ago,
// and that was not their first time, so they are held for longer than anybody would wait here.
func (w *world) heir(g *groupPlan, leader int) (id string, held bool) {
	for i := range len(g.voters) - 1 {
		n := w.nodes[g.voters[(leader+1+i)%len(g.voters)]]
		p := n.process.Load()
		if p == nil {
			return n.name, false
		}
		if m := w.judge.memberOf(p, g.name); m == nil || m.el.Status().Inability != protocol.NotAbleHold {
			return n.name, false
		}
	}
	return "", true
}

func (w *world) handOverOnce(g *groupPlan) {
	why := "no member leads"
	for began := time.Now(); time.Since(began) < w.plan.patience(g) && !w.broken(); w.sleep(g.timing.Detection()) {
		for i, voter := range g.voters {
			p := w.nodes[voter].process.Load()
			if p == nil {
				continue
			}
			m := w.judge.memberOf(p, g.name)
			if m == nil || m.el.Status().Role != memberstate.Leader {
				continue
			}
			heir, held := w.heir(g, i)
			if held {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), w.plan.patience(g))
			err := m.transfer(ctx, heir)
			cancel()
			if err == nil {
				return
			}
			why = m.name + ": " + err.Error()
		}
	}
	w.judge.check(Found, w.broken(), "n* "+g.name, "no handover has succeeded: %s", why)
}

// broken says whether an invariant was violated.
func (w *world) broken() bool { return isClosed(w.judge.failed) }

// lacks says what a group lacks; empty if it lacks nothing.
func (w *world) lacks(g *groupPlan) string {
	leader, term := "", memberstate.Term(0)
	for _, n := range w.nodes {
		if n.ledgers[g.index] == nil {
			continue
		}
		p := n.process.Load()
		if p == nil {
			return n.name + " does not run"
		}
		m := w.judge.memberOf(p, g.name)
		if m == nil || m.el == nil {
			return n.name + " is no member"
		}
		s := m.el.Status()
		if s.Leader == "" {
			return n.name + " knows no leader"
		}
		if leader != "" && (s.Leader != leader || s.Term != term) {
			return n.name + " follows another leader than others"
		}
		leader, term = s.Leader, s.Term
		if what := m.behind(term); what != "" {
			return what
		}
		if what := w.judge.lacking(m, &s); what != "" {
			return what
		}
	}
	return ""
}

// behind says so of a member whose ledger has nothing of the leader's term, although no fault keeps its appends away.
func (m *member) behind(term memberstate.Term) string {
	end, refused := m.ledger.end(), m.refused.Load()
	switch {
	case end.Term == term:
		return ""
	case refused == nil:
		return fmt.Sprintf("the ledger of %s ends at %v, and no append has arrived", m.name, end)
	}
	return fmt.Sprintf("the ledger of %s ends at %v, and the last append was answered so: %v", m.name, end, *refused)
}

// lacking says what a leader lacks.
func (j *judge) lacking(m *member, s *elector.Status) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.groups[m.group.name]
	_, _, held := m.el.Lease()
	switch {
	case s.Role != memberstate.Leader:
		return ""
	case m.group.lead && (m.office == nil || m.office.term != s.Term):
		return "Lead does not run at " + m.name
	case m.leases && !held:
		return m.name + " holds no lease"
	case len(h.commits) == 0 || h.commits[len(h.commits)-1].in != s.Term:
		return "nothing was committed in the term of " + m.name
	}
	return ""
}
