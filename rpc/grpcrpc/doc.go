// Package grpcrpc is an [rpc.Transport] over gRPC, with mutual TLS.
//
// Two nodes share one connection. The node with the smaller id
// opens it, and opens it again when it breaks. Each side says Hello, the caller confirms
// the answer, and then both send batches of messages, and beats, for as long as
// the connection lasts. Each Hello says what its sender understands, so that a node of
// an older version is sent no beats. Messages and beats do not name their sender: it is the node at
// the other end, whose certificate names it as hustings://member/ID
// ([IdentityOf]; the command "hustings certs" makes such certificates). So a member
// cannot speak for another.
//
// Calls of operators (package operator) arrive at the same port with certificates
// of their own, hustings://operator/NAME. Neither role includes the other.
//
// Certificates are read again when they change, and open connections verified again.
// Data that arrives over a connection is counted, and so are calls whose answers were not sent,
// so that no peer, with or without a certificate, can make a node keep more than a bounded
// amount of either.
//
// Without TLS every peer that can connect is believed, so a transport without it
// listens on a loopback address only, unless it is told to trust its network.
package grpcrpc
