// Package storetest tests the stores against real databases. SQLite and etcd run within the
// tests; the environment names the others. The script "run" starts private ones, through the
// script "with", and calls go test.
//
//	HUSTINGS_TEST_POSTGRES=postgres://...   HUSTINGS_TEST_MYSQL=user@tcp(...)/...
//	HUSTINGS_TEST_REDIS=host:port
//	HUSTINGS_TEST_CLOCK=file with the offset of PostgreSQL's and MariaDB's clocks: see libfaketime
//
// The tests of the command use the same variables and HUSTINGS_TEST_ETCD. A database that is
// not named is skipped; with HUSTINGS_TEST_ALL=yes, which "run" sets, that is a failure.
package storetest
