package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxPointer is the size in bytes that a pointer file stays below
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
const maxPointer = 1024

type pointer struct {
	oid  string // SHA-256, hex
	size int64  // bytes
}

// IsLFSPointer says whether data is what Git LFS leaves in a repository in a file's place.
func IsLFSPointer(data []byte) bool {
	_, ok := parsePointer(data)
	return ok
}

func parsePointer(data []byte) (pointer, bool) {
	if len(data) >= maxPointer {
		return pointer{}, false
	}
	lines := strings.Split(string(data), "\n")
	version := strings.TrimSuffix(lines[0], "\r")
	if version != "version https://git-lfs.github.com/spec/v1" && version != "version https://hawser.github.com/spec/v1" {
		return pointer{}, false
	}
	var p pointer
	p.size = -1
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
		switch key {
		case "oid":
			p.oid, _ = strings.CutPrefix(value, "sha256:")
		case "size":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				p.size = n
			}
		}
	}
	return p, len(p.oid) == 64 && isObjectID(p.oid) && p.size >= 0
}

// An lfsStore is the content of Git LFS files that is on this machine.
type lfsStore struct {
	gitDir string // "" when there is none
	commit string // the revision that is read, "" for a working tree
}

// content gives data, or if that is a pointer, what it points to.
func (l lfsStore) content(data []byte, limit int64) ([]byte, error) {
	p, ok := parsePointer(data)
	if !ok {
		return data, nil
	}
	if l.gitDir == "" {
		return nil, &LFSError{p.oid, p.size, l.commit}
	}
	f, err := os.Open(filepath.Join(l.gitDir, "lfs", "objects", p.oid[:2], p.oid[2:4], p.oid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &LFSError{p.oid, p.size, l.commit}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if p.size > limit {
		return nil, &TooLargeError{p.size, limit}
	}
	out, err := io.ReadAll(io.LimitReader(f, p.size+1))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(out); hex.EncodeToString(sum[:]) != p.oid {
		return nil, fmt.Errorf("the content that Git LFS has for it is damaged: `git lfs fsck` says more")
	}
	return out, nil
}
