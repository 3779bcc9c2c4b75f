// A summary of a node's groups. A node with very many groups cannot show all of them to an operator, who could
// not read them either.

package operator

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
)

// Summary counts groups of a node, by what the node knows of them.
type Summary struct {
	Node   string // empty if there are no groups
	Groups int
	// Starting have joined, but do not take part yet. Only Groups counts them, too.
	Starting int
	Roles    map[memberstate.Role]int
	// Leaders counts groups by the leader that the node knows, and Leaderless those in which it knows none.
	Leaders    map[string]int
	Leaderless int
	// Unable counts groups in which the node is not able to lead, by the reason.
	Unable                  map[elector.Inability]int
	LowestTerm, HighestTerm memberstate.Term
	// Troubled are the groups without a leader, and those in which the node is not able to lead. Examples
	// are the first of them.
	Troubled int
	Examples []elector.Status
}

func newSummary() *Summary {
	return &Summary{Roles: map[memberstate.Role]int{}, Leaders: map[string]int{}, Unable: map[elector.Inability]int{}}
}

// add counts a group. It keeps the status if it needs attention and there are fewer examples than most.
func (s *Summary) add(now elector.Status, most int) {
	s.Node = now.Self
	s.Groups++
	if now.Revision == 0 {
		s.Starting++
		return
	}
	s.Roles[now.Role]++
	if now.Leader == "" {
		s.Leaderless++
	} else {
		s.Leaders[now.Leader]++
	}
	if now.Inability != protocol.Able {
		s.Unable[now.Inability]++
	}
	if s.Groups-s.Starting == 1 || now.Term < s.LowestTerm {
		s.LowestTerm = now.Term
	}
	s.HighestTerm = max(s.HighestTerm, now.Term)
	if now.Leader != "" && now.Inability == protocol.Able {
		return
	}
	s.Troubled++
	if len(s.Examples) < most {
		s.Examples = append(s.Examples, now)
	}
}

// Summary counts the node's groups whose names have a prefix. It has at most this many examples of those that
// need attention. An older node sends all its statuses for that.
func (c *Client) Summary(ctx context.Context, prefix string, examples int) (*Summary, error) {
	answer, err := c.calls.Summary(ctx, &electorpb.SummaryRequest{Prefix: prefix, Examples: uint32(examples)})
	if err == nil {
		return decodeSummary(answer), nil
	}
	if status.Code(err) != codes.Unimplemented {
		return nil, c.explain(err)
	}
	all, err := c.Status(ctx, "")
	if err != nil {
		return nil, err
	}
	s := newSummary()
	for _, r := range all {
		if strings.HasPrefix(r.Group, prefix) {
			s.add(r.Status, examples)
		}
	}
	return s, nil
}

// mostExamples bounds the size of an answer.
const mostExamples = 1000

// Summary is the node's side. It asks nothing of the groups, so it is quick even if they are very many.
func (s *service) Summary(_ context.Context, q *electorpb.SummaryRequest) (*electorpb.SummaryResponse, error) {
	sum, most := newSummary(), int(min(q.GetExamples(), mostExamples))
	for _, el := range s.host.Electors() {
		if now := el.Status(); strings.HasPrefix(now.Group, q.GetPrefix()) {
			sum.add(now, most)
		}
	}
	return encodeSummary(sum), nil
}

func encodeSummary(s *Summary) *electorpb.SummaryResponse {
	answer := &electorpb.SummaryResponse{
		Node: s.Node, Groups: uint64(s.Groups), Starting: uint64(s.Starting), Leaders: make(map[string]uint64, len(s.Leaders)),
		Leaderless: uint64(s.Leaderless), LowestTerm: uint64(s.LowestTerm), HighestTerm: uint64(s.HighestTerm), Troubled: uint64(s.Troubled),
	}
	for role, groups := range s.Roles {
		answer.Roles = append(answer.Roles, &electorpb.RoleCount{Role: roles[role], Groups: uint64(groups)})
	}
	for leader, groups := range s.Leaders {
		answer.Leaders[leader] = uint64(groups)
	}
	for why, groups := range s.Unable {
		answer.Unable = append(answer.Unable, &electorpb.InabilityCount{Inability: inabilities[why], Groups: uint64(groups)})
	}
	for _, one := range s.Examples {
		answer.Examples = append(answer.Examples, encode(one))
	}
	return answer
}

func decodeSummary(answer *electorpb.SummaryResponse) *Summary {
	s := newSummary()
	s.Node, s.Groups, s.Starting = answer.GetNode(), int(answer.GetGroups()), int(answer.GetStarting())
	s.Leaderless, s.Troubled = int(answer.GetLeaderless()), int(answer.GetTroubled())
	s.LowestTerm, s.HighestTerm = memberstate.Term(answer.GetLowestTerm()), memberstate.Term(answer.GetHighestTerm())
	for _, count := range answer.GetRoles() {
		s.Roles[found[memberstate.Role](roles, count.GetRole())] += int(count.GetGroups())
	}
	for leader, groups := range answer.GetLeaders() {
		s.Leaders[leader] = int(groups)
	}
	for _, count := range answer.GetUnable() {
		s.Unable[found[elector.Inability](inabilities, count.GetInability())] += int(count.GetGroups())
	}
	for _, one := range answer.GetExamples() {
		s.Examples = append(s.Examples, decode(one))
	}
	return s
}
