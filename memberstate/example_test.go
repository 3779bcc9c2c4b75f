package memberstate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hustings/hustings/memberstate"
)

// A store keeps the vote of a node across a restart. It is created once in the node's life. A
// store that is missing later is an error, because the node may have voted.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "hustings-example-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "n1.store")

	_, err = memberstate.OpenFile(path, "n1")
	fmt.Println("there is none yet:", errors.Is(err, memberstate.ErrNoStore))

	store, err := memberstate.CreateFile(path, "n1")
	if err != nil {
		panic(err)
	}
	fmt.Println(store.Save([]memberstate.Record{{Group: "orders", Term: 7, Vote: "n0"}}))
	fmt.Println(store.Close())

	store, err = memberstate.OpenFile(path, "n1")
	if err != nil {
		panic(err)
	}
	fmt.Println(store.Load("orders"))
	fmt.Println(store.Close())
	// Output:
	// there is none yet: true
	// <nil>
	// <nil>
	// "orders": term 7, voted for "n0", voters 0000000000000000 true <nil>
	// <nil>
}

// Voters sit before observers, and a majority of them is a quorum.
func ExampleNewMembers() {
	members, err := memberstate.NewMembers(append(memberstate.Voters("n2", "n0", "n1"), memberstate.Member{ID: "archive", Observer: true}))
	if err != nil {
		panic(err)
	}
	fmt.Println(members)
	fmt.Println(memberstate.Quorum(members.Voters()), "of", members.Voters().Len())
	// Output:
	// n0 n1 n2 [archive]
	// 2 of 3
}

// A later term counts more than a larger index, as in an election.
func ExamplePosition_Compare() {
	long, late := memberstate.Position{Term: 6, Index: 99}, memberstate.Position{Term: 7, Index: 42}
	fmt.Println(late, "against", long, "is", late.Compare(long))
	// Output:
	// 7:42 against 6:99 is 1
}
