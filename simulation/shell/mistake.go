// This file has an engine's mistakes: wrong configurations, and calls out of turn. The error must
// name the field, and a mistake must not affect running members.

package shell

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// mistake makes one field of a configuration wrong.
type mistake struct {
	field string
	makes func(c *elector.GroupConfig)
}

// mistakes lists every way in which the configuration of a group can be wrong.
var mistakes = []mistake{
	{"Group", func(c *elector.GroupConfig) { c.Group = "" }},
	{"Group", func(c *elector.GroupConfig) { c.Group = strings.Repeat("g", 256) }},
	{"Group", func(c *elector.GroupConfig) { c.Group = "\xff" }},
	{"Members", func(c *elector.GroupConfig) { c.Members = nil }},
	{"Members", func(c *elector.GroupConfig) { c.Members = memberstate.Voters("somebody", "else") }},
	{"Members", func(c *elector.GroupConfig) { c.Members = append(c.Members, c.Members[0]) }},
	{"Members", func(c *elector.GroupConfig) { c.Members[0].Observer = true }},
	{"Preferred", func(c *elector.GroupConfig) { c.Preferred = []string{"an observer"} }},
	{"Preferred", func(c *elector.GroupConfig) { c.Preferred = []string{"nobody"} }},
	{"Vouch", func(c *elector.GroupConfig) { c.Vouch = -1 }},
	{"Vouch", func(c *elector.GroupConfig) { c.Vouch = 2*c.Timing.Heartbeat - 1 }},
	{"LedgerEnd", func(c *elector.GroupConfig) { c.LedgerEnd = nil }},
	{"Handlers", func(c *elector.GroupConfig) { c.Handlers = []elector.RoleHandler{nil} }},
	{"Timing.Heartbeat", func(c *elector.GroupConfig) { c.Timing.Heartbeat = time.Millisecond - 1 }},
	{"Timing.Heartbeat", func(c *elector.GroupConfig) { c.Timing.Heartbeat = 13 * time.Hour }},
	{"Timing.Leak", func(c *elector.GroupConfig) { c.Timing.Leak = 0 }},
	{"Timing.Leak", func(c *elector.GroupConfig) { c.Timing.Leak = 1 }},
	{"Timing.Leak", func(c *elector.GroupConfig) { c.Timing.Leak = 101 }},
	{"Timing.MinVoteWait", func(c *elector.GroupConfig) { c.Timing.MinVoteWait = 0 }},
	{"Timing.MaxVoteWait", func(c *elector.GroupConfig) { c.Timing.MaxVoteWait = c.Timing.MinVoteWait }},
	{"Timing.MaxVoteWait", func(c *elector.GroupConfig) { c.Timing.MaxVoteWait = 25 * time.Hour }},
	{"Timing.RoundTimeout", func(c *elector.GroupConfig) { c.Timing.RoundTimeout = 0 }},
	{"Timing.RoundTimeout", func(c *elector.GroupConfig) { c.Timing.RoundTimeout = 25 * time.Hour }},
	{"Timing.DriftMargin", func(c *elector.GroupConfig) { c.Leases, c.Timing.DriftMargin = true, 0 }},
	{"Timing.DriftMargin", func(c *elector.GroupConfig) { c.Leases, c.Timing.DriftMargin = true, c.Timing.Heartbeat }},
}

// unknown is a correct configuration of a group that no other node has.
func (p *process) unknown() elector.GroupConfig {
	return elector.GroupConfig{
		Group:   "unknown",
		Members: []memberstate.Member{{ID: p.node.name}, {ID: "an observer", Observer: true}},
		Timing: elector.Timing{
			Heartbeat: 100 * time.Millisecond, Leak: 2, MinVoteWait: 30 * time.Millisecond, MaxVoteWait: 100 * time.Millisecond,
			RoundTimeout: 100 * time.Millisecond, DriftMargin: 15 * time.Millisecond,
		},
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	}
}

// makeMistakes makes every mistake, each time in another order.
func (p *process) makeMistakes() {
	p.world().judge.struckAt(Mistake, p.node.name)
	for _, i := range p.node.random.Perm(len(mistakes)) {
		p.joinsWrongly(&mistakes[i])
	}
	p.joinsIdly()
	p.joinsTwice()
}

// joinsWrongly joins a group with one mistake. The error must name its field and no other.
func (p *process) joinsWrongly(m *mistake) {
	c := p.unknown()
	m.makes(&c)
	_, err := p.host.Join(c)
	told := err != nil && slices.Equal(fields(err), []string{m.field}) && strings.Contains(err.Error(), m.field)
	p.world().judge.check(MistakesTold, told, p.node.name,
		"%s of a group is wrong, but the error is %v", m.field, err)
}

// fields lists the fields that an error names.
func fields(err error) (list []string) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			list = append(list, fields(one)...)
		}
		return list
	}
	if bad := (*elector.ConfigError)(nil); errors.As(err, &bad) {
		return []string{bad.Field}
	}
	return []string{err.Error()}
}

// joinsIdly joins a group, gives it an order and stops it, before it has been started.
func (p *process) joinsIdly() {
	j, ctx := p.world().judge, context.Background()
	el, err := p.host.Join(p.unknown())
	if j.check(MistakesTold, err == nil, p.node.name, "Join of a correct group returns %v", err); err != nil {
		return
	}
	err = el.TransferLeadership(ctx, "")
	j.check(MistakesTold, errors.Is(err, elector.ErrStopped), p.node.name, "TransferLeadership of a group that was not started returns %v", err)
	err = el.Stop(ctx)
	j.check(MistakesTold, err == nil, p.node.name, "Stop of a group that was not started returns %v", err)
	err = el.Start()
	j.check(MistakesTold, errors.Is(err, elector.ErrStopped), p.node.name, "Start of a stopped group returns %v", err)
}

// joinsOtherwise joins a group whose member has ended with one more voter, and starts it. A quorum of the voters that the
// store knows may have elected a leader, which a quorum of these need not know.
func (p *process) joinsOtherwise(g *groupPlan) {
	c := p.unknown()
	c.Group, c.Members = g.name, append(slices.Clone(g.members), memberstate.Member{ID: "one more"})
	if _, known, err := p.store.Load(g.name); !known || err != nil {
		return
	}
	el, err := p.host.Join(c)
	if p.world().judge.check(MistakesTold, err == nil || p.isDead(), p.node.name, "Join of a correct group returns %v", err); err != nil {
		return
	}
	err = el.Start()
	p.world().judge.check(MistakesTold, errors.Is(err, elector.ErrOtherVoters) || p.isDead(), p.node.name+" "+g.name, "it starts with other voters, and the error is %v", err)
}

// joinsTwice joins each group and starts each member a second time.
func (p *process) joinsTwice() {
	j := p.world().judge
	for _, m := range j.membersOf(p) {
		if m.el == nil {
			continue
		}
		c := p.unknown()
		c.Group = m.group.name
		el, err := p.host.Join(c)
		if err == nil { // then it is another elector, and the first must be over
			_ = el.Stop(context.Background())
		}
		again := m.el.Start()
		settle()
		j.check(MistakesTold, errors.Is(err, elector.ErrGroupExists) || err == nil && m.ended.Load(), m.name, "it joins twice, but the error is %v", err)
		j.check(MistakesTold, errors.Is(again, elector.ErrStopped), m.name, "it is started twice, but the error is %v", again)
	}
}
