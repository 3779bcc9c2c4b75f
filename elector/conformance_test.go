// Conformance: what the real DLedger answered, replayed against the machine.
//
// testdata/dledger holds 6,000 decisions of the Java elector. The machine is put
// into the state of each, with pre-vote, ranks and leases off, and must decide
// the same. Where it does not, a deviation is named, and the test checks that
// the machine does what that deviation says instead.

package elector

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// vector is one decision.
type vector struct {
	Self              bool
	Consistent        *bool
	Peers             int
	Arrival           string
	State, After      dledgerState
	Request           dledgerRequest
	Response          dledgerAnswer
	Responses         []dledgerAnswer
	RoleEvents        [][]any
	Persisted         *json.RawMessage
	LeaderTimerReset  bool
	Waiting           bool
	Outcome, NextVote string
	LastQuorumSuccess string
}

type dledgerState struct {
	Role, LastParseResult         string
	LeaderID                      *string
	CurrTerm                      int
	CurrVoteFor                   *string
	LedgerEndTerm, LedgerEndIndex int
	KnownMaxTermInGroup           int
	NeedIncreaseTermImmediately   bool
}

type dledgerRequest struct {
	LeaderID                            *string
	Term, LedgerEndTerm, LedgerEndIndex int
}

type dledgerAnswer struct {
	From                         string
	VoteResult, CodeName, Result string
	Term                         int
}

// verdict is what became of a vector: it agrees, or a deviation excuses it.
type verdict string

const agrees verdict = "agree"

// conforms is what is to be expected: how many vectors agree, are excused, or are
// skipped. A change of any count is a change of the protocol.
var conforms = map[string]map[verdict]int{
	"handlevote":     {agrees: 1235, byD3: 37, skipped: 228},
	"heartbeat":      {agrees: 759, byD3: 20, skipped: 721},
	"voteround":      {agrees: 750, byD2: 396, byD3: 102, byD5: 163, byD6: 89},
	"heartbeatround": {agrees: 905, byD7: 494, byD8: 101},
}

func TestConformance(t *testing.T) {
	replays := map[string]func(*testing.T, *vector) verdict{
		"handlevote":     replayVote,
		"heartbeat":      replayHeartbeat,
		"voteround":      replayVoteRound,
		"heartbeatround": replayBeat,
	}
	for _, kind := range slices.Sorted(maps.Keys(conforms)) {
		got := map[verdict]int{}
		for i, v := range vectors(t, kind) {
			got[replay(t, i, v, replays[kind])]++
		}
		for _, judged := range slices.Sorted(maps.Keys(got)) {
			t.Logf("%-15s %5d  %s", kind, got[judged], judged)
		}
		assert.Equal(t, conforms[kind], got)
	}
}

// skipped marks vectors whose state no elector can come to, as a follower
// without a leader. What a machine does there is no decision.
const skipped verdict = "skipped: inconsistent state"

// replay judges one vector, and prints it if it is judged wrong.
func replay(t *testing.T, number int, v *vector, play func(*testing.T, *vector) verdict) verdict {
	t.Helper()
	if v.Consistent != nil && !*v.Consistent {
		return skipped
	}
	failed := t.Failed()
	judged := play(t, v)
	if t.Failed() && !failed {
		text, _ := json.Marshal(v)
		t.Fatalf("line %d, judged %q: %s", number+1, judged, text)
	}
	return judged
}

// vectors reads all decisions of a kind.
func vectors(t *testing.T, kind string) (all []*vector) {
	t.Helper()
	file, err := os.Open("testdata/dledger/vectors-" + kind + ".jsonl.gz")
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		v := new(vector)
		require.NoError(t, json.Unmarshal(lines.Bytes(), v))
		all = append(all, v)
	}
	require.NoError(t, lines.Err())
	require.Len(t, all, 1500)
	return all
}

// DLedger's terms begin below zero here, and its indices at -1 for an empty
// ledger; only their order matters.

func termOf(term int) memberstate.Term { return memberstate.Term(term + 3) }

func positionOf(term, index int) memberstate.Position {
	return memberstate.Position{Term: termOf(term), Index: uint64(index + 2)}
}

// seatOf is the seat of n0, n1 ... and a Stranger's for others.
func seatOf(id *string) memberstate.Seat {
	var n memberstate.Seat
	switch {
	case id == nil:
		return memberstate.Nobody
	case *id == "nx":
		return memberstate.Stranger
	}
	_, _ = fmt.Sscanf(*id, "n%d", &n)
	return n + 1
}

func roleOf(name string) memberstate.Role {
	for _, r := range []memberstate.Role{memberstate.Candidate, memberstate.Follower, memberstate.Leader} {
		if strings.EqualFold(r.String(), name) {
			return r
		}
	}
	panic("no role " + name)
}

// resultOf finds a result by DLedger's name for it, zero for what is no answer:
// an exception, a time-out, an error of the network.
func resultOf(name string) rpc.Result {
	for r := rpc.Accept; r <= rpc.TermNotReady; r++ {
		if r.String() == name {
			return r
		}
	}
	return 0
}

// dledgerRules are those of n0 in a group, with everything off that DLedger
// does not have.
func dledgerRules(peers int) *Rules {
	voters := memberstate.Set(1)<<peers - 1
	return &Rules{Self: 1, Voters: voters, All: voters, Timing: DLedgerTiming()}
}

// machineIn is a machine in DLedger's state. That a raise of the term is pending
// there has no counterpart: the machine has raised in the step that saw it (D3).
func machineIn(s *dledgerState) *Machine {
	m := &Machine{alarm: 1}
	m.Term, m.Vote = termOf(s.CurrTerm), seatOf(s.CurrVoteFor)
	m.Role, m.Leader = roleOf(s.Role), seatOf(s.LeaderID)
	if s.KnownMaxTermInGroup >= 0 {
		m.known = termOf(s.KnownMaxTermInGroup)
	}
	for j := WaitToRevote; j <= WaitToVoteNext; j++ {
		if j.String() == s.LastParseResult {
			m.judged = j
		}
	}
	return m
}

// settleRaise applies the raise that DLedger leaves to its next tick.
func (v *vector) settleRaise() (raised bool) {
	s := &v.After
	if !s.NeedIncreaseTermImmediately || len(v.RoleEvents) == 0 || v.RoleEvents[0][1] != "CANDIDATE" {
		return false
	}
	s.CurrTerm = max(s.KnownMaxTermInGroup, s.CurrTerm+1)
	s.CurrVoteFor = nil
	return true
}

// overtakes says whether DLedger's pending raise overtakes the term that the
// message brought, because it had heard of a still larger one. The machine is in
// the term of the message then, where it can follow, and remembers the other.
func (v *vector) overtakes() bool {
	return v.After.NeedIncreaseTermImmediately && len(v.RoleEvents) > 0 && v.RoleEvents[0][1] == "CANDIDATE" &&
		v.State.KnownMaxTermInGroup > v.Request.Term
}

func (v *vector) assertAdopted(t *testing.T, m *Machine) {
	t.Helper()
	assert.Equal(t, termOf(v.Request.Term), m.Term)
	assert.Equal(t, termOf(v.State.KnownMaxTermInGroup), m.known)
	assert.Equal(t, memberstate.Candidate, m.Role)
	assert.Equal(t, memberstate.Nobody, m.Vote)
}

// changesHardState says whether the call changed what must be durable. DLedger
// writes a vote again that is given again; the machine does not.
func (v *vector) changesHardState() bool {
	return v.State.CurrTerm != v.After.CurrTerm || seatOf(v.State.CurrVoteFor) != seatOf(v.After.CurrVoteFor)
}

// stepIn steps the machine, with the ledger of the vector when it asks for it.
func (v *vector) stepIn(r *Rules, m *Machine, in Input) *Output {
	out := new(Output)
	m.Step(r, &in, out)
	for out.NeedLedger {
		in.HasLedger, in.LedgerTerm = true, out.LedgerTerm
		in.Ledger = positionOf(v.State.LedgerEndTerm, v.State.LedgerEndIndex)
		m.Step(r, &in, out)
	}
	return out
}

// assertAfter compares the machine with DLedger's state after the call.
func (v *vector) assertAfter(t *testing.T, m *Machine) {
	t.Helper()
	s := &v.After
	assert.Equal(t, termOf(s.CurrTerm), m.Term, "term")
	assert.Equal(t, seatOf(s.CurrVoteFor), m.Vote, "vote")
	assert.Equal(t, roleOf(s.Role), m.Role, "role")
	assert.Equal(t, seatOf(s.LeaderID), m.Leader, "leader")
}

// replayVote: a vote request arrives, or the member asks itself.
func replayVote(t *testing.T, v *vector) verdict {
	t.Helper()
	r, m := dledgerRules(3), machineIn(&v.State)
	q := Message{From: seatOf(v.Request.LeaderID), Body: rpc.Body{
		Kind: rpc.VoteRequest, Term: termOf(v.Request.Term), Ledger: positionOf(v.Request.LedgerEndTerm, v.Request.LedgerEndIndex),
	}}
	var out *Output
	if v.Self {
		out = new(Output)
		in := Input{Message: q, HasLedger: true, LedgerTerm: q.Term, Ledger: positionOf(v.State.LedgerEndTerm, v.State.LedgerEndIndex)}
		assert.Equal(t, v.Response.VoteResult, m.arbitrate(r, &in, out, true).String())
	} else {
		out = v.stepIn(r, m, Input{Kind: Receive, Message: q})
		assert.Equal(t, v.Response.VoteResult, out.Reply.Result.String())
		assert.Equal(t, termOf(v.Response.Term), out.Reply.Term)
	}
	if v.overtakes() {
		v.assertAdopted(t, m)
		return byD3
	}
	v.settleRaise()
	v.assertAfter(t, m)
	assert.Equal(t, v.changesHardState(), out.Save, "saved")
	return agrees
}

// replayHeartbeat: a heartbeat arrives.
func replayHeartbeat(t *testing.T, v *vector) verdict {
	t.Helper()
	r, m := dledgerRules(3), machineIn(&v.State)
	out := v.stepIn(r, m, Input{Kind: Receive, Message: Message{
		From: seatOf(v.Request.LeaderID), Body: rpc.Body{Kind: rpc.Heartbeat, Term: termOf(v.Request.Term)},
	}})
	assert.Equal(t, v.Response.CodeName, out.Reply.Result.String())
	if v.Response.Term != -1 { // filled in
		assert.Equal(t, termOf(v.Response.Term), out.Reply.Term)
	}
	if v.overtakes() {
		v.assertAdopted(t, m)
		return byD3
	}
	raised := v.settleRaise()
	v.assertAfter(t, m)
	assert.Equal(t, v.changesHardState(), out.Save, "saved")
	if !raised {
		assert.Equal(t, v.LeaderTimerReset, out.Alarm.Min == r.Timing.Detection(), "silence")
	}
	return agrees
}
