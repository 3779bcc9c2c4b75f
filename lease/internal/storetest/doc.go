// Package storetest tests the stores against real databases. SQLite and etcd always
// run inside the test; the environment says where the others are. The script
// run starts private ones, by the script with, and calls go test.
//
//	HUSTINGS_TEST_POSTGRES=postgres://...   HUSTINGS_TEST_MYSQL=user@tcp(...)/...
//	HUSTINGS_TEST_REDIS=host:port
//	HUSTINGS_TEST_CLOCK=file, how far the clocks of PostgreSQL and MariaDB are ahead: see libfaketime
//
// The same variables, and HUSTINGS_TEST_ETCD, tell the tests of the command where they are.
// Tests of a missing database are skipped, with a message; with HUSTINGS_TEST_ALL=yes, which
// run sets, they fail.
package storetest
