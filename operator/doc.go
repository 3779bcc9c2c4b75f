// Package operator shows operators the state of a node in its groups and takes their
// commands, over gRPC.
//
// A node offers it beside its transport:
//
//	transport, err := grpcrpc.New(...)
//	host, err := elector.NewHost(elector.HostConfig{Transport: transport, ...})
//	operator.Register(transport.Registrar(), host, transport.Address)
//
// [Dial] makes a client of it. Calls need an operator's certificate.
package operator
