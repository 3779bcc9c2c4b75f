// What a database's driver is given: the server's side of a login, as far as the user, the password and the name.

package database_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
)

// login opens a database at a listener that plays the server until it has learned who logs in.
func login(t *testing.T, before, after string, server func(*testing.T, net.Conn) string) (learned string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, l.Close()) }()
	heard := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if assert.NoError(t, err) {
			heard <- server(t, c)
			assert.NoError(t, c.Close())
		}
	}()
	db, err := database.Open(before+l.Addr().String()+after, database.ForOperators)
	require.NoError(t, err)
	_, err = db.Store.Names(t.Context())
	require.Error(t, err, "the server hangs up")
	assert.NoError(t, db.Close())
	return <-heard
}

func TestPostgresIsGivenUserPasswordAndName(t *testing.T) {
	assert.Equal(t, "user ada, database app, password s3cret/", login(t, "postgres://ada:s3cret%2F@", "/app?sslmode=disable", asPostgres))
}

func asPostgres(t *testing.T, c net.Conn) string {
	t.Helper()
	message := func() []byte {
		var length [4]byte
		_, err := io.ReadFull(c, length[:])
		assert.NoError(t, err)
		text := make([]byte, binary.BigEndian.Uint32(length[:])-4)
		_, err = io.ReadFull(c, text)
		assert.NoError(t, err)
		return text
	}
	fields := texts(message()[4:])
	set := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		set[fields[i]] = fields[i+1]
	}
	_, err := c.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // asks for the password as it is
	assert.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	assert.NoError(t, err)
	return "user " + set["user"] + ", database " + set["database"] + ", password " + texts(message())[0]
}

func TestMySQLIsGivenUserPasswordAndName(t *testing.T) {
	assert.Equal(t, "user ada, database app, password s3cret/", login(t, "mysql://ada:s3cret%2F@", "/app?allowCleartextPasswords=true", asMySQL))
}

func asMySQL(t *testing.T, c net.Conn) string {
	t.Helper()
	const abilities = 0x0000_0008 | 0x0000_0200 | 0x0000_8000 | 0x0008_0000 // a name, protocol 4.1, long answers, plugins
	hello := append([]byte{10}, "8.0\x00\x01\x00\x00\x00saltsalt\x00"...)
	hello = binary.LittleEndian.AppendUint16(hello, abilities&0xffff)
	hello = append(hello, 33, 2, 0)
	hello = binary.LittleEndian.AppendUint16(hello, abilities>>16)
	hello = append(hello, 21)
	hello = append(hello, make([]byte, 10)...)
	hello = append(hello, "saltsaltsalt\x00mysql_clear_password\x00"...)
	_, err := c.Write(append([]byte{byte(len(hello)), 0, 0, 0}, hello...))
	assert.NoError(t, err)
	var head [4]byte
	_, err = io.ReadFull(c, head[:])
	assert.NoError(t, err)
	answer := make([]byte, int(head[0])|int(head[1])<<8)
	_, err = io.ReadFull(c, answer)
	assert.NoError(t, err)
	said := texts(answer[32:]) // the user; the password after its length; the name
	return "user " + said[0] + ", database " + said[2] + ", password " + said[1][1:]
}

func TestEtcdIsGivenUserAndPassword(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	said := make(chan string, 1)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		request := new(emptypb.Empty) // keeps what it does not know
		assert.NoError(t, call.RecvMsg(request))
		said <- string(request.ProtoReflect().GetUnknown())
		return status.Error(codes.InvalidArgument, "no")
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	db, err := database.Open("etcd://ada:s3cret%2F@"+l.Addr().String(), database.ForCandidates)
	require.NoError(t, err)
	require.ErrorContains(t, db.Prepare(t.Context()), "no")
	assert.Equal(t, "\n\x03ada\x12\x07s3cret/", <-said)
	assert.NoError(t, db.Close())
	server.Stop()
	assert.NoError(t, <-ended)
}

// A node that could not read its lease prepares the database again, and must not leave a client behind each time.
func TestAnEtcdThatIsPreparedAgainKeepsItsClient(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	logins := make(chan struct{}, 2)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		logins <- struct{}{}
		return errors.Join(call.RecvMsg(new(emptypb.Empty)), call.SendMsg(new(emptypb.Empty)))
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	db, err := database.Open("etcd://ada:s3cret@"+l.Addr().String(), database.ForCandidates)
	require.NoError(t, err)
	require.NoError(t, db.Prepare(t.Context()))
	require.NoError(t, db.Prepare(t.Context()))
	assert.Len(t, logins, 1)
	assert.NoError(t, db.Close())
	server.Stop()
	assert.NoError(t, <-ended)
}

// An etcd that accepts connections and says nothing is given up.
func TestALoginThatNobodyAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	db, err := database.Open("etcd://ada:s3cret@"+l.Addr().String(), database.ForCandidates)
	require.NoError(t, err)
	require.ErrorIs(t, db.Prepare(t.Context()), context.DeadlineExceeded)
	assert.NoError(t, db.Close())
	assert.NoError(t, l.Close())
}

// Whoever asks a database that says nothing waits no longer than he wants to.
func TestACallEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	db, err := database.Open("redis://"+l.Addr().String()+"?read_timeout=-1", database.ForCandidates)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		assert.NoError(t, err)
		accepted <- c
	}()
	require.Error(t, db.Prepare(ctx))
	assert.NoError(t, db.Close())
	assert.NoError(t, (<-accepted).Close())
	assert.NoError(t, l.Close())
}

// texts takes apart texts that each end with a zero.
func texts(of []byte) (all []string) {
	for from, b := 0, 0; b < len(of); b++ {
		if of[b] == 0 {
			all, from = append(all, string(of[from:b])), b+1
		}
	}
	return all
}

// A URL that names no port means the port that its database has by default.
func TestAPortThatIsNotNamedIsTheUsualOne(t *testing.T) {
	for url, address := range map[string]string{
		"mysql://255.255.255.255/app":    "255.255.255.255:3306",
		"mysql://255.255.255.255:1/app":  "255.255.255.255:1:",
		"mysql://[ff00::1]/app":          "[ff00::1]:3306",
		"postgres://255.255.255.255/app": "255.255.255.255:5432",
		"redis://255.255.255.255":        "255.255.255.255:6379",
	} {
		db, err := database.Open(url, database.ForOperators)
		require.NoError(t, err)
		_, err = db.Store.Names(t.Context())
		require.ErrorContains(t, err, address)
		assert.NoError(t, db.Close())
	}
}
