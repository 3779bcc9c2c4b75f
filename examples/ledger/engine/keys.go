// Where things are on disk. All shards of a node share one store, and each has keys of its own:
//
//	shard, "b"                            base: the position below the first entry of the ledger
//	shard, "a"                            how far the state has come, and its generation
//	shard, "l", index                     an entry of the ledger
//	shard, "s", generation, "k", key      a value
//	shard, "s", generation, "d", session  what was done last in a session

package engine

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"
)

const (
	keyOfBase    = 'b'
	keyOfApplied = 'a'
	keyOfEntries = 'l'
	keyOfState   = 's'

	keyOfValues   = 'k'
	keyOfSessions = 'd'
)

// keyOfShards is where the number of shards is. No shard has such a number.
var keyOfShards = []byte{255, 255, 255, 255, 'n'}

// keyOfWrites is where the number of the last write is, see mark.
var keyOfWrites = []byte{255, 255, 255, 255, 'w'}

// key is a key of a shard.
func (s *shard) key(kind byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, s.number), kind)
}

// entryKey is where an entry is.
func (s *shard) entryKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64(s.key(keyOfEntries), index)
}

// stateKey is the prefix of a generation's state.
func (s *shard) stateKey(generation uint32) []byte {
	return binary.BigEndian.AppendUint32(s.key(keyOfState), generation)
}

// valueKey is where the value of a user's key is.
func (s *shard) valueKey(key []byte) []byte {
	return append(append(s.stateKey(s.generation), keyOfValues), key...)
}

// sessionKey is where a session is.
func (s *shard) sessionKey(session uint64) []byte {
	return binary.BigEndian.AppendUint64(append(s.stateKey(s.generation), keyOfSessions), session)
}

// after is the first key that does not begin with a prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// encode is a message as it is on disk.
func encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // our own messages are valid
	}
	return b
}
