package operator

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Every field is set to a value of its own, and comes out unchanged. A new field must get a value
// here.
func TestEveryFieldSurvivesTheWire(t *testing.T) {
	report := elector.Report{
		Status: elector.Status{
			Group: "orders", Self: "n0", Role: memberstate.Leader, Term: 7, Leader: "n1", Vote: "n2", Revision: 9, Stopped: true,
			LastLeader: "n3", Departure: protocol.DepartedNoQuorum, Inability: protocol.NotAbleDisk,
		},
		Lease: time.Second, Ledger: memberstate.Position{Term: 5, Index: 11}, QuorumAge: time.Millisecond, Unable: time.Minute,
		Preferred: true, LastChoice: true,
	}
	assertFull(t, report)
	assert.Equal(t, report, decodeReport(encodeReport(report)))
	assert.Equal(t, report.Status, decode(encode(report.Status)))

	failed := &elector.TransferError{Group: "orders", Term: 7, Obstacles: []protocol.Obstacle{{
		Voter: "n1", Hindrance: protocol.HinderedBehind, Lost: time.Minute, Cause: "no disk",
		Ledger: memberstate.Position{Term: 3, Index: 4}, Goal: memberstate.Position{Term: 5, Index: 6},
	}, {Voter: "n2", Hindrance: protocol.HinderedNotAsked}}}
	assertFull(t, *failed)
	assertFull(t, failed.Obstacles[0])
	plain := status.New(codes.FailedPrecondition, "it was not transferred")
	assert.Equal(t, failed, reasons(withReasons(plain, failed)))
	assert.Nil(t, reasons(withReasons(plain, assert.AnError)))
}

// assertFull fails the test if a field of a struct has its zero value.
func assertFull(t *testing.T, of any) {
	t.Helper()
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		assert.False(t, v.Field(i).IsZero(), v.Type().Field(i).Name)
		if v.Field(i).Kind() == reflect.Struct {
			assertFull(t, v.Field(i).Interface())
		}
	}
}

// Every value is converted to the wire and back. A value of a later version becomes zero.
func TestEveryValueHasOneOnTheWire(t *testing.T) {
	for i, on := range roles {
		assert.EqualValues(t, i, found[memberstate.Role](roles, on))
	}
	for i, on := range departures {
		assert.EqualValues(t, i, found[elector.Departure](departures, on))
	}
	assert.Equal(t, "unknown reason", elector.Departure(len(departures)).String(), "there are no more")
	for i, on := range inabilities {
		assert.EqualValues(t, i, found[elector.Inability](inabilities, on))
	}
	assert.Equal(t, "unknown cause", elector.Inability(len(inabilities)).String(), "there are no more")
	for i, on := range hindrances {
		assert.EqualValues(t, i, found[protocol.Hindrance](hindrances, on))
	}
	assert.Zero(t, found[protocol.Hindrance](hindrances, 99))
	require.Zero(t, found[elector.Departure](departures, 99))
}

// An error that already has a status keeps it. Errors of contexts get their own codes, and all
// others keep their text.
func TestEveryErrorHasAStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{status.Error(codes.NotFound, "no group"), codes.NotFound},
		{elector.ErrNotLeader, codes.FailedPrecondition},
		{elector.ErrTransferInProgress, codes.AlreadyExists},
		{elector.ErrTransferFailed, codes.Aborted},
		{elector.ErrStopped, codes.Unavailable},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{assert.AnError, codes.Unknown},
	} {
		got := toStatus(c.err)
		assert.Equal(t, c.want, status.Code(got), c.err)
		assert.ErrorContains(t, got, status.Convert(c.err).Message())
	}
}

// errors.Is finds the node's error in a failed call, and no other one.
func TestAFailedCallIsTheErrorThatTheNodeHad(t *testing.T) {
	all := []error{
		elector.ErrNotLeader, elector.ErrTransferInProgress, elector.ErrTransferFailed, elector.ErrStopped,
		context.Canceled, context.DeadlineExceeded, assert.AnError,
	}
	for i, had := range all {
		err := (&Client{address: "there"}).explain(toStatus(had))
		for j, other := range all {
			assert.Equal(t, i == j && i != len(all)-1, errors.Is(err, other), "%v is %v", had, other)
		}
		_, is := errors.AsType[*elector.ConfigError](err)
		assert.False(t, is)
		_, is = errors.AsType[*elector.TransferError](err)
		assert.False(t, is, "it has no reasons")
		assert.ErrorContains(t, err, "there: ")
		assert.Equal(t, status.Code(toStatus(had)), status.Code(err))
	}
}
