// Package grpcrpc is an [rpc.Transport] over gRPC, with mutual TLS.
//
// Between two nodes there is one connection, which the one with the smaller id
// opens and opens again when it breaks. Each side says Hello, the caller confirms
// that it has been answered, and then both send batches of messages for as long as
// the connection lasts. Who a message is from is not in it: it is from the node at
// the other end, and who that is stands in its certificate, as hustings://member/ID
// ([IdentityOf]; the command "hustings certs" makes such certificates). A member
// cannot speak for another.
//
// Calls of operators (package operator) come to the same port with certificates
// of their own, hustings://operator/NAME. Neither role includes the other.
//
// Certificates are read again when they change, and open connections verified again.
// What comes over a connection is counted, and so are the calls whose answers were not
// sent: nobody, with or without a certificate, can have a node keep more than a bounded
// amount of either.
//
// Without TLS everyone who can connect is believed, so a transport without it
// listens on a loopback address only, unless it is told to trust its network.
package grpcrpc
