// Code that works with both versions. A message, and each of its fields, is a value in 3.6 and
// a pointer in 3.7; this file names no type that only one of them has.

package etcd

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Label is the part of a message that its carrier needs.
type Label struct {
	To   uint64
	Kind raftpb.MessageType
	Term uint64
}

func label(r *raft.Ready, i int) Label {
	m := r.Messages // the slice, because one message would be a copy in 3.6
	return Label{To: number(m[i].To), Kind: kind(m[i].Type), Term: number(m[i].Term)}
}

// messages returns the messages of a Ready with their own type M, which is inferred from
// (*raft.RawNode).Step.
func messages[M any](r *raft.Ready) []M { return *any(&r.Messages).(*[]M) }

// number reads a numeric field; zero if it is not set.
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

// set sets a numeric field.
func set[N uint64 | *uint64](field *N, to uint64) {
	switch n := any(field).(type) {
	case *uint64:
		*n = to
	case **uint64:
		*n = &to
	}
}

// kind reads the type of a message.
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
