// Package rpc is what members say to each other, and how it gets there.
//
// A [Message] is a value: one thing that one member of one group tells another.
// A [Transport] carries batches of them between nodes; it may lose, delay,
// duplicate and reorder them, and the election copes. [Network] is a transport
// in memory whose links do all of that on command. Package grpcrpc has one for
// real networks, and package rpctest is the acceptance test for any.
package rpc
