// Package operator is what those who operate nodes use: it shows what a node is
// in its groups and commands it, over gRPC.
//
// A node offers it beside its transport:
//
//	transport, err := grpcrpc.New(...)
//	host, err := elector.NewHost(elector.HostConfig{Transport: transport, ...})
//	operator.Register(transport.Registrar(), host, transport.Address)
//
// and [Dial] is the other end. Calls need a certificate of an operator's.
package operator
