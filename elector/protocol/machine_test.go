// A machine is a small value.

package protocol

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestMachineIsASmallValue(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Machine{}), uintptr(216))
	assert.True(t, reflect.TypeOf(Machine{}).Comparable())
}

// Fault 17: every timer of DLedger reads the wall clock, so that a step forward causes an election and
// a step back delays one. A machine holds only numbers, so it has no clock that could step.
func TestFault17AMachineKnowsNoClock(t *testing.T) {
	assertPlain(t, reflect.TypeOf(Machine{}), "Machine")
	assertPlain(t, reflect.TypeOf(Input{}), "Input")
	assertPlain(t, reflect.TypeOf(Output{}.Alarm), "Alarm")
}

// assertPlain checks that a type holds nothing but numbers and booleans.
func assertPlain(t *testing.T, typ reflect.Type, path string) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Struct:
		for field := range typ.Fields() {
			assertPlain(t, field.Type, path+"."+field.Name)
		}
	case reflect.Array:
		assertPlain(t, typ.Elem(), path+"[]")
	case reflect.Bool, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Int64:
	default:
		assert.Failf(t, "not plain", "%s is a %v", path, typ)
	}
}

// A step that needs the end of the ledger has done nothing, and asks for nothing else.
func TestAStepThatNeedsTheLedgerIsUndone(t *testing.T) {
	r := threeRules()
	for what, c := range map[string]struct {
		in   Input
		term memberstate.Term
	}{
		"a vote":           {Input{Kind: Receive, Message: Message{From: 2, Body: voteFor(7)}}, 7},
		"a pre-vote":       {Input{Kind: Receive, Message: Message{From: 2, Body: wouldVoteFor(7)}}, 3},
		"an own candidacy": {Input{Kind: Stand}, 3},
	} {
		m := NewMachine(r, memberstate.HardState{Term: 3})
		var out Output
		m.Step(r, &Input{Kind: Start}, &out)
		before := m
		m.Step(r, &c.in, &out)
		assert.Equal(t, Output{NeedLedger: true, LedgerTerm: c.term}, out, what)
		assert.Equal(t, before, m, what)
		c.in.HasLedger, c.in.LedgerTerm = true, c.term-1
		m.Step(r, &c.in, &out)
		assert.True(t, out.NeedLedger, "%s: the engine has promised too little", what)
		c.in.LedgerTerm = c.term
		m.Step(r, &c.in, &out)
		assert.False(t, out.NeedLedger, what)
	}
}

// A defect in the middle of a step is not hidden by what the step does well afterwards.
func TestAnIllegalTransitionIsNotForgotten(t *testing.T) {
	var m Machine
	var out Output
	m.transition(&out, m.StandDown())
	require.Error(t, out.Err)
	first := out.Err
	m.transition(&out, m.Raise(1, 0))
	m.transition(&out, m.StandDown())
	assert.Same(t, first, out.Err)
	assert.True(t, out.Changed)
}

func TestStepsDoNotAllocate(t *testing.T) {
	leader := leadingAlone(t, false)
	out, in := new(Output), &Input{Kind: Ring, Number: leader.machine.alarm}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		copied := leader.machine
		copied.Step(leader.rules, in, out)
	}))
}
