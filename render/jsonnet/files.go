package jsonnet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	gojsonnet "github.com/google/go-jsonnet"

	"github.com/prdiff/prdiff/internal/source"
)

// A Side reads one tree: its files, their scans and its idle evaluators. All
// names are relative to the tree's root. Safe for concurrent use.
type Side struct {
	tree    *source.Tree
	natives *Natives

	mu    sync.Mutex
	dirs  map[string]*folder
	files map[string]*file
	idle  []*evaluator

	charts func() ([]string, error)
}

func newSide(t *source.Tree, natives *Natives) *Side {
	s := &Side{tree: t, natives: natives, dirs: map[string]*folder{}, files: map[string]*file{}}
	s.charts = sync.OnceValues(s.findCharts)
	return s
}

// Tree gives the tree that the side reads.
func (s *Side) Tree() *source.Tree { return s.tree }

// A folder is what is known of a folder: its entries, or why there are none.
type folder struct {
	entries map[string]fs.FileMode // type bits of each entry
	missing string                 // the first part of the name that is not there, "" when all is
	real    string                 // the name with links resolved
	links   []string               // the links that lie on the way
	err     error
}

// A file is one file, read and scanned at most once.
type file struct {
	read     sync.Once
	contents gojsonnet.Contents
	err      error

	scanned sync.Once
	scan    Scan
}

// Found is where a name leads to.
type Found struct {
	// Missing is the shortest part of the name that is not in the tree, such as
	// "vendor" for "vendor/a/b"; "" when the name leads to something.
	Missing string
	Dir     bool
	Real    string   // the name with links resolved
	Links   []string // the links on the way
}

const maxLinks = 40 // as many as Linux follows before it gives up with ELOOP

// Find says where name leads to. The error tells of links that lead out of the
// tree or go in circles, and of folders that cannot be read.
func (s *Side) Find(name string) (Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(name, 0)
}

func (s *Side) find(name string, depth int) (Found, error) {
	if depth > maxLinks {
		return Found{}, fmt.Errorf("%s: links go in circles", name)
	}
	if name == "." {
		return Found{Dir: true, Real: "."}, nil
	}
	parent := s.folder(path.Dir(name), depth)
	if parent.err != nil {
		return Found{}, parent.err
	}
	if parent.missing != "" {
		return Found{Missing: parent.missing, Links: parent.links}, nil
	}
	mode, ok := parent.entries[path.Base(name)]
	if !ok {
		return Found{Missing: name, Links: parent.links}, nil
	}
	real := path.Join(parent.real, path.Base(name))
	if mode&fs.ModeSymlink == 0 {
		return Found{Dir: mode.IsDir(), Real: real, Links: parent.links}, nil
	}
	links := append(parent.links[:len(parent.links):len(parent.links)], real)
	target, err := fs.ReadLink(s.tree, real)
	if err != nil {
		// A tree that cannot tell where links lead follows them by itself.
		info, err := s.tree.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return Found{Missing: name, Links: links}, nil
		}
		if err != nil {
			return Found{}, err
		}
		return Found{Dir: info.IsDir(), Real: real, Links: links}, nil
	}
	to := path.Join(path.Dir(real), target)
	if path.IsAbs(target) || outside(to) {
		return Found{}, fmt.Errorf("%s: the link leads out of the tree, to %s", name, target)
	}
	found, err := s.find(to, depth+1)
	found.Links = append(links, found.Links...)
	return found, err
}

// folder gives what is known of a folder; s.mu is held.
func (s *Side) folder(name string, depth int) *folder {
	if d := s.dirs[name]; d != nil {
		return d
	}
	d := &folder{}
	found, err := s.find(name, depth)
	d.real, d.links, d.missing, d.err = found.Real, found.Links, found.Missing, err
	switch {
	case err != nil || d.missing != "":
	case !found.Dir:
		d.missing = name // a file has nothing below it
	default:
		d.entries, d.err = s.readDir(found.Real)
	}
	s.dirs[name] = d
	return d
}

func (s *Side) readDir(name string) (map[string]fs.FileMode, error) {
	list, err := s.tree.ReadDir(name)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]fs.FileMode, len(list))
	for _, entry := range list {
		entries[entry.Name()] = entry.Type()
	}
	return entries, nil
}

// outside says whether a cleaned relative path leaves the tree.
func outside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

func (s *Side) file(name string) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[name]
	if f == nil {
		f = &file{}
		s.files[name] = f
	}
	return f
}

// Read gives the content of a file, the same instance at every call.
func (s *Side) Read(name string) (gojsonnet.Contents, error) {
	f := s.file(name)
	f.read.Do(func() {
		data, err := s.tree.ReadFile(name)
		switch {
		case err != nil:
			f.err = err
		case len(data) > maxFile:
			f.err = fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
		case bytes.HasPrefix(data, lfsPointer):
			f.err = fmt.Errorf("%s: is a Git LFS pointer, its content is not in the repository", name)
		default:
			f.contents = gojsonnet.MakeContentsRaw(data)
		}
	})
	return f.contents, f.err
}

// lfsPointer begins each file that Git LFS keeps elsewhere
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// Scan gives the scan of a file, made once.
func (s *Side) Scan(name string) (Scan, error) {
	contents, err := s.Read(name)
	if err != nil {
		return Scan{}, err
	}
	f := s.file(name)
	f.scanned.Do(func() { f.scan = ScanSource(contents.Data()) })
	return f.scan, nil
}

// findCharts lists the folders of the tree that hold a Helm chart, outermost
// only, in byte order.
func (s *Side) findCharts() ([]string, error) {
	var charts []string
	err := fs.WalkDir(s.tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !entry.IsDir() && entry.Name() == "Chart.yaml" {
			dir := path.Dir(name)
			if n := len(charts); n == 0 || !below(charts[n-1], dir) {
				charts = append(charts, dir)
			}
		}
		return nil
	})
	return charts, err
}

// below says whether name is dir or lies below it.
func below(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
