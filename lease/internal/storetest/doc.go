// Package storetest tests the stores against real databases. SQLite is always
// there; the others are where the environment says, which the script beside this
// file arranges: it starts private ones and calls go test.
//
//	HUSTINGS_TEST_POSTGRES=postgres://...   HUSTINGS_TEST_MYSQL=user@tcp(...)/...
package storetest
