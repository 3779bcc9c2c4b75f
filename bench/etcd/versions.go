// What makes no difference of the versions. A message is a value in 3.6 and a pointer
// in 3.7, and so is each of its fields; nothing here names a type that only one of
// them has.

package etcd

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Label is what one has to know of a message to carry it.
type Label struct {
	To   uint64
	Kind raftpb.MessageType
	Term uint64
}

func label(r *raft.Ready, i int) Label {
	m := r.Messages // not one of them: that would be a copy in 3.6
	return Label{To: number(m[i].To), Kind: kind(m[i].Type), Term: number(m[i].Term)}
}

// messages are those of a Ready as what they are: M is inferred from
// (*raft.RawNode).Step, which takes the same.
func messages[M any](r *raft.Ready) []M { return *any(&r.Messages).(*[]M) }

// number reads a field that has a number, zero if it is not set.
func number[N uint64 | *uint64](field N) uint64 {
	switch n := any(field).(type) {
	case uint64:
		return n
	case *uint64:
		if n != nil {
			return *n
		}
	}
	return 0
}

// set sets such a field.
func set[N uint64 | *uint64](field *N, to uint64) {
	switch n := any(field).(type) {
	case *uint64:
		*n = to
	case **uint64:
		*n = &to
	}
}

// kind reads the field that says what a message is about.
func kind[K raftpb.MessageType | *raftpb.MessageType](field K) raftpb.MessageType {
	switch k := any(field).(type) {
	case raftpb.MessageType:
		return k
	case *raftpb.MessageType:
		if k != nil {
			return *k
		}
	}
	return 0
}
