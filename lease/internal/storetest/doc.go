// Package storetest tests the stores against real databases. SQLite and etcd are
// always there, within the test; the others are where the environment says. The script
// run starts private ones, by the script with, and calls go test.
//
//	HUSTINGS_TEST_POSTGRES=postgres://...   HUSTINGS_TEST_MYSQL=user@tcp(...)/...
//	HUSTINGS_TEST_REDIS=host:port
//	HUSTINGS_TEST_CLOCK=file, by which PostgreSQL and MariaDB are ahead: see libfaketime
//
// The same variables, and HUSTINGS_TEST_ETCD, lead the tests of the command to them. What
// is not there is left out, and said to be; with HUSTINGS_TEST_ALL=yes, which run sets, it
// is a failure.
package storetest
