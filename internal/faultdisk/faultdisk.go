//go:build linux

// Package faultdisk is a disk that fails when a test wants it to. A folder is seen at a second place, and there whatever changes a
// file may be slow, hang, or find no room. Processes need not know of it.
//
// It is a file system in user space: it needs Linux, root and /dev/fuse.
package faultdisk

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is a folder whose second place can fail.
type Disk struct {
	server *fuse.Server
	sleep  func(time.Duration)

	mu    sync.Mutex
	fault fault
	held  int
}

// fault is what is wrong. The zero value is nothing.
type fault struct {
	delay  time.Duration
	refuse syscall.Errno
	ends   chan struct{} // closed when what hangs goes on; nil if nothing hangs
}

// Mount has a folder seen at another place, which is an empty folder.
func Mount(folder, at string) (*Disk, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(folder, &s); err != nil {
		return nil, err
	}
	d, root := &Disk{sleep: time.Sleep}, &fs.LoopbackRoot{Path: folder, Dev: s.Dev}
	root.RootNode = &node{LoopbackNode: &fs.LoopbackNode{RootData: root}, disk: d}
	var err error
	d.server, err = fs.Mount(at, root.RootNode, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "faultdisk"}})
	return d, err
}

// Unmount heals the disk and takes it away. No process may have files open there.
func (d *Disk) Unmount() error {
	d.Heal()
	return d.server.Unmount()
}

// Slow has each change take so much longer.
func (d *Disk) Slow(delay time.Duration) { d.set(fault{delay: delay}) }

// Hang has each change wait until the disk is healed. A process that waits for one cannot even be killed before.
func (d *Disk) Hang() { d.set(fault{ends: make(chan struct{})}) }

// Fill has each change find no room.
func (d *Disk) Fill() { d.set(fault{refuse: syscall.ENOSPC}) }

// Heal ends what is wrong.
func (d *Disk) Heal() { d.set(fault{}) }

// Held is how many changes hang.
func (d *Disk) Held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held
}

func (d *Disk) set(f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault.ends != nil {
		close(d.fault.ends)
		d.held = 0
	}
	d.fault = f
}

// suffer does what is wrong to a change that begins now.
func (d *Disk) suffer() syscall.Errno {
	d.mu.Lock()
	f, sleep := d.fault, d.sleep
	if f.ends != nil {
		d.held++
	}
	d.mu.Unlock()
	if f.ends != nil {
		<-f.ends
	}
	sleep(f.delay)
	return f.refuse
}

// node is a file or a folder.
type node struct {
	*fs.LoopbackNode
	disk *Disk
}

// WrapChild makes what is in a folder a node, too.
func (n *node) WrapChild(_ context.Context, below fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: below.(*fs.LoopbackNode), disk: n.disk}
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := n.disk.suffer(); e != 0 {
		return nil, nil, 0, e
	}
	made, f, flags, e := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return made, n.watched(f), flags, e
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, flags, e := n.LoopbackNode.Open(ctx, flags)
	return n.watched(f), flags, e
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.disk.suffer(); e != 0 {
		return nil, e
	}
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (n *node) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if e := n.disk.suffer(); e != 0 {
		return e
	}
	return n.LoopbackNode.Rename(ctx, name, to, newName, flags)
}

// watched is an open file of the disk.
func (n *node) watched(f fs.FileHandle) fs.FileHandle {
	if f, ok := f.(*fs.LoopbackFile); ok {
		return &file{LoopbackFile: f, disk: n.disk}
	}
	return f
}

// file is an open file.
type file struct {
	*fs.LoopbackFile
	disk *Disk
}

// PassthroughFd keeps the kernel from reading and writing the file below without asking here.
func (*file) PassthroughFd() (int, bool) { return 0, false }

func (f *file) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	if e := f.disk.suffer(); e != 0 {
		return 0, e
	}
	return f.LoopbackFile.Write(ctx, data, at)
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if e := f.disk.suffer(); e != 0 {
		return e
	}
	return f.LoopbackFile.Fsync(ctx, flags)
}

func (f *file) Allocate(ctx context.Context, at, size uint64, mode uint32) syscall.Errno {
	if e := f.disk.suffer(); e != 0 {
		return e
	}
	return f.LoopbackFile.Allocate(ctx, at, size, mode)
}
