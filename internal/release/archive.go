// The archives of the command, for users without Go.

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// platform is an operating system and a processor, as in linux/amd64.
type platform struct{ os, arch string }

// platforms are the platforms that get archives.
var platforms = []platform{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// build installs the command from the proxy, as users do, so that anyone can make the same file
// with CGO_ENABLED=0 and -trimpath. It returns the file's path.
func (r *release) build(p platform) (string, error) {
	path := r.library() + "/" + commandDir
	if _, err := r.command(r.dir, []string{"GOOS=" + p.os, "GOARCH=" + p.arch}, "go", "install", path+"@"+r.version); err != nil {
		return "", err
	}
	file := filepath.Join(r.dir, "path", "bin")
	if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		file = filepath.Join(file, p.os+"_"+p.arch)
	}
	file = filepath.Join(file, "hustings")
	if p.os == "windows" {
		file += ".exe"
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return "", err
	}
	if info.Main.Path != path || info.Main.Version != r.version || info.Main.Sum == "" {
		return "", fmt.Errorf("the command for %s/%s was built from %s %s with the sum %q, and not from %s", p.os, p.arch, info.Main.Path, info.Main.Version, info.Main.Sum, r.version)
	}
	return file, nil
}

// archive builds the command for a platform, and writes its archive and its bill of materials to
// a directory. It returns the archive's path.
func (r *release) archive(p platform, to string) (string, error) {
	binary, err := r.build(p)
	if err != nil {
		return "", err
	}
	name := filepath.Join(to, strings.Join([]string{"hustings", r.version, p.os, p.arch}, "_"))
	if err := r.writeBill(binary, name+".cdx.json"); err != nil {
		return "", err
	}
	files := []string{binary}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		files = append(files, filepath.Join(r.repo(), file))
	}
	if p.os == "windows" {
		return name + ".zip", create(name+".zip", func(w io.Writer) error { return r.zip(w, files) })
	}
	return name + ".tar.gz", create(name+".tar.gz", func(w io.Writer) error { return r.tarball(w, files) })
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// tarball writes a reproducible archive: all its files have the revision's time.
func (r *release) tarball(w io.Writer, files []string) error {
	made, err := time.Parse(time.RFC3339, r.time)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := tar.Header{Name: filepath.Base(file), Size: int64(len(text)), Mode: mode(i), ModTime: made.UTC(), Format: tar.FormatPAX}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

// zip writes the same archive for Windows.
func (r *release) zip(w io.Writer, files []string) error {
	made, err := time.Parse(time.RFC3339, r.time)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := zip.FileHeader{Name: filepath.Base(file), Method: zip.Deflate, Modified: made.UTC()}
		header.SetMode(os.FileMode(mode(i)))
		entry, err := archive.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return archive.Close()
}

// mode returns the mode of the i-th file; the first one is the command.
func mode(i int) int64 {
	if i == 0 {
		return 0o755
	}
	return 0o644
}
