// Conformance: the contents of a recorded decision, and how DLedger's words are translated into the
// machine's.

package protocol

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
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
	State, After      dledgerState
	RoleEvents        [][2]any // term, role
	Persisted         *struct{ CurrTerm int }
	LeaderTimerReset  bool
	Request           dledgerRequest
	Response          dledgerAnswer
	Responses         []dledgerAnswer
	PeerResponsesSeen *int
	Peers             int
	Arrival           string
	Waiting, Voted    bool
	VoteRequest       *dledgerRequest
	SelfVote          *dledgerAnswer
	Outcome, NextVote string
	LastQuorumSuccess string

	text string
}

type dledgerState struct {
	Role, LastParseResult         string
	LeaderID, CurrVoteFor         *string
	CurrTerm, KnownMaxTermInGroup int
	LedgerEndTerm, LedgerEndIndex int
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

// readVectors reads all decisions of a kind.
func readVectors(t *testing.T, kind string) (all []*vector) {
	t.Helper()
	file, err := os.Open("testdata/dledger/vectors-" + kind + ".jsonl.gz")
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		v := &vector{text: lines.Text()}
		require.NoError(t, json.Unmarshal(lines.Bytes(), v))
		all = append(all, v)
	}
	require.NoError(t, lines.Err())
	require.Len(t, all, 1500)
	return all
}

// DLedger's terms begin at -2 here, and its indices at -1 for an empty ledger;
// only their order matters.

func termOf(term int) memberstate.Term { return memberstate.Term(term + 3) }

func positionOf(term, index int) memberstate.Position {
	return memberstate.Position{Term: termOf(term), Index: uint64(index + 2)}
}

// seatOf is the seat of n0, n1 ..., a Stranger's for nx, Nobody's for none.
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

// resultOf finds a result by DLedger's name for it. It is zero for an exception, a time-out or a network
// error, which never come as an answer.
func resultOf(name string) rpc.Result {
	for r := rpc.Accept; r <= rpc.TermNotReady; r++ {
		if r.String() == name {
			return r
		}
	}
	return 0
}

func judgementOf(name string) Judgement {
	for j := WaitToRevote; j <= WaitToVoteNext; j++ {
		if j.String() == name {
			return j
		}
	}
	panic("no judgement " + name)
}

// n0 is the seat of the member under test.
const n0 memberstate.Seat = 1

// dledgerRules are those of n0 in a group, without everything that DLedger does not have.
func dledgerRules(peers int) *Rules {
	voters := memberstate.Set(1)<<peers - 1
	return &Rules{Self: n0, Voters: voters, All: voters, Timing: DLedgerTiming()}
}

// machineIn is a machine in DLedger's state. A raise of the term that is pending
// there has no counterpart: the machine has raised in the step that saw it (D3).
func machineIn(s *dledgerState) *Machine {
	m := &Machine{alarm: 1, known: termOf(s.KnownMaxTermInGroup), round: round{judged: judgementOf(s.LastParseResult)}}
	m.Term, m.Vote = termOf(s.CurrTerm), seatOf(s.CurrVoteFor)
	m.Role, m.Leader = roleOf(s.Role), seatOf(s.LeaderID)
	// A candidate whose last round has passed led the term, and stopped.
	m.Spent = m.Role == memberstate.Follower || m.Role == memberstate.Candidate && m.round.judged == Passed
	return m
}

func (s *dledgerState) ledger() memberstate.Position {
	return positionOf(s.LedgerEndTerm, s.LedgerEndIndex)
}

// nextTerm is the term of the next campaign that raises it. Terms that DLedger has heard of and passed
// make no difference to it.
func (s *dledgerState) nextTerm() memberstate.Term {
	return termOf(max(s.CurrTerm+1, s.KnownMaxTermInGroup))
}

func (m *Machine) nextTerm() memberstate.Term { return max(m.Term+1, m.known) }

// stepIn steps the machine, with the ledger of the vector when it asks for it.
func (v *vector) stepIn(c *trial, r *Rules, m *Machine, in Input) *Output {
	out, before := new(Output), *m
	m.Step(r, &in, out)
	for out.NeedLedger {
		assert.Equal(c, before, *m, "nothing has happened yet")
		in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, v.State.ledger()
		m.Step(r, &in, out)
	}
	assert.NoError(c, out.Err)
	assert.Equal(c, before.State != m.State, out.Changed, "changed")
	assert.Equal(c, before.HardState != m.HardState, out.Save, "saved")
	lost := before.Role == memberstate.Leader && (m.Role != memberstate.Leader || m.Term != before.Term)
	assert.Equal(c, lost, out.Lost, "lost")
	return out
}

// assertAfter compares the machine with a state of DLedger.
func (s *dledgerState) assertAfter(c *trial, m *Machine) {
	assert.Equal(c, termOf(s.CurrTerm), m.Term, "term")
	assert.Equal(c, seatOf(s.CurrVoteFor), m.Vote, "vote")
	assert.Equal(c, roleOf(s.Role), m.Role, "role")
	assert.Equal(c, seatOf(s.LeaderID), m.Leader, "leader")
	assert.Equal(c, s.nextTerm(), m.nextTerm(), "largest term heard of")
}

// assertArmed checks how long the alarm waits.
func assertArmed(c *trial, m *Machine, a Alarm, low, high any) {
	assert.Equal(c, m.alarm, a.Number, "number of the alarm")
	assert.Equal(c, []any{low, high}, []any{a.Min, a.Max}, "alarm")
}
