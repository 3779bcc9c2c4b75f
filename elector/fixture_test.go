// Configurations, hosts and groups for the tests of both packages, elector and elector_test.

package elector

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// EmptyLedger is the LedgerEnd of an engine without entries.
func EmptyLedger(memberstate.Term) memberstate.Position { return memberstate.Position{} }

// GroupOf is the configuration of a group with these voters and an empty ledger.
func GroupOf(group string, voters ...string) GroupConfig {
	return GroupConfig{Group: group, Members: memberstate.Voters(voters...), Timing: DefaultTiming(), LedgerEnd: EmptyLedger}
}

// IsolatedNode is the configuration of node n0 on a network of its own, where nobody could take a beat.
func IsolatedNode(store memberstate.Store) HostConfig {
	return HostConfig{Self: "n0", Store: store, Transport: rpc.NewNetwork(1).Join("n0"), NoNodeBeats: true}
}

// MustHost makes a host.
func MustHost(tb testing.TB, config HostConfig) *Host {
	tb.Helper()
	host, err := NewHost(config)
	require.NoError(tb, err)
	return host
}

// IsolatedHost makes the host of an IsolatedNode.
func IsolatedHost(tb testing.TB, store memberstate.Store) *Host {
	tb.Helper()
	return MustHost(tb, IsolatedNode(store))
}

// MustJoin adds a group to a host.
func MustJoin(tb testing.TB, host *Host, config GroupConfig) *Elector {
	tb.Helper()
	el, err := host.Join(config)
	require.NoError(tb, err)
	return el
}
