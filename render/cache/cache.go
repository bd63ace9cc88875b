// Package cache keeps on disk what units rendered to, by everything that the
// result depends on, so that the next run need not render a side that it has
// seen. Several runs may use one folder at the same time.
//
// No secret is stored in any form: a unit in which anything is masked is not
// kept. A hash that could be compared in the next run would need a key that lies
// beside it, and would then say to whoever copies the folder whether a guess at a
// password is right. Such units are rendered each time.
package cache

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
)

// DefaultSize is the size in bytes that a folder is trimmed to: some 20,000 units
// of fifty objects.
const DefaultSize = 256 << 20

// Limits on a single entry, in bytes: what is larger is not kept, and an entry
// that unpacks to more is damaged.
const (
	maxEntry  = 32 << 20
	maxOpened = 512 << 20
)

// A Cache is a folder of entries. Safe for concurrent use. A nil Cache holds
// nothing.
type Cache struct {
	dir   string
	size  int64
	wrote atomic.Bool
	known *object.WireParts // what entries have in common
}

// Open opens a folder, which is made if it is not there, for this user alone.
// Size is what it is trimmed to when it is closed, in bytes; 0 means DefaultSize.
func Open(dir string, size int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	if size <= 0 {
		size = DefaultSize
	}
	return &Cache{dir: dir, size: size, known: &object.WireParts{}}, nil
}

// file is where an entry lies.
func (c *Cache) file(k Key) string {
	name := hex.EncodeToString(k[:])
	return filepath.Join(c.dir, name[:2], name[2:])
}

// magic begins each entry. The checksum of its key and of all after it follows.
const magic = "prdiff rendering 3\n"

// Get gives what was kept under a key. An entry that is damaged is not there.
func (c *Cache) Get(k Key) (*render.Output, bool) {
	if c == nil {
		return nil, false
	}
	name := c.file(k)
	data, err := readFile(name)
	if err != nil {
		return nil, false
	}
	out, err := decode(k, data, c.known)
	if err != nil {
		_ = os.Remove(name) // whoever renders it now writes it anew
		return nil, false
	}
	now := time.Now()
	if info, err := os.Stat(name); err == nil && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Chtimes(name, now, now) // it is in use: trimming takes the oldest first
	}
	return out, true
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEntry+1))
	if err == nil && len(data) > maxEntry {
		err = errDamaged
	}
	return data, err
}

// Put keeps an output under a key, unless it hides a secret or has problems. What
// cannot be written is not kept: the run goes on without.
func (c *Cache) Put(k Key, out *render.Output) {
	if c == nil || !keeps(out) {
		return
	}
	data, err := encode(k, out)
	if err != nil || len(data) > maxEntry {
		return
	}
	name := c.file(k)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return
	}
	// A reader sees a whole entry or none, and the last of two writers wins: both
	// wrote the same.
	f, err := os.CreateTemp(c.dir, temporary+"*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	c.wrote.Store(true)
}

const temporary = "new-"

func keeps(out *render.Output) bool {
	if len(out.Problems) > 0 || out.Partial != "" {
		return false
	}
	for _, p := range out.Parts {
		if p.Target != nil && p.Target.Masks() || slices.ContainsFunc(p.Objects, (*object.Object).Masks) {
			return false
		}
	}
	return true
}

// Close trims the folder when this run wrote to it: what was not used for longest
// goes first.
func (c *Cache) Close() error {
	if c == nil || !c.wrote.Load() {
		return nil
	}
	type entry struct {
		name string
		size int64
		used time.Time
	}
	var entries []entry
	var total int64
	err := filepath.WalkDir(c.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		if strings.HasPrefix(d.Name(), temporary) {
			if time.Since(info.ModTime()) > time.Hour { // its writer is no more
				return ignoreMissing(os.Remove(name))
			}
			return nil
		}
		if len(d.Name()) == 2*len(Key{})-2 && info.Mode().IsRegular() {
			entries = append(entries, entry{name, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	if err != nil || total <= c.size {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	for _, e := range entries {
		if total <= c.size/10*9 {
			break
		}
		if err := ignoreMissing(os.Remove(e.name)); err != nil {
			return err
		}
		total -= e.size
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

var errDamaged = errors.New("the entry is damaged")

func encode(k Key, out *render.Output) ([]byte, error) {
	var body []byte
	body = binary.AppendUvarint(body, uint64(len(out.Parts)))
	for _, p := range out.Parts {
		var target, objects []byte
		if p.Target != nil {
			target = p.Target.AppendWire(nil)
		}
		for _, o := range p.Objects {
			objects = o.AppendWire(objects)
		}
		body = appendText(appendText(appendText(body, p.Name), string(target)), string(objects))
	}
	body = binary.AppendUvarint(body, uint64(len(out.Notes)))
	for _, n := range out.Notes {
		body = appendText(body, n)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := checksum(k, packed.Bytes())
	return append(append([]byte(magic), sum[:]...), packed.Bytes()...), nil
}

// checksum is of an entry and of its key: one that lies in another's place is damaged.
func checksum(k Key, packed []byte) [sha256.Size]byte {
	return sha256.Sum256(append(k[:], packed...))
}

func decode(k Key, data []byte, known *object.WireParts) (*render.Output, error) {
	data, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(data) < sha256.Size || checksum(k, data[sha256.Size:]) != [sha256.Size]byte(data[:sha256.Size]) {
		return nil, errDamaged
	}
	body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[sha256.Size:])), maxOpened+1))
	if err != nil || len(body) > maxOpened {
		return nil, errDamaged
	}
	r := reader{body}
	out := &render.Output{}
	for range r.count() {
		p := render.Part{Name: string(r.text())}
		if target := r.text(); len(target) > 0 {
			objects := known.Read(target)
			if p.Target, err = objects.Next(); err != nil || objects.More() {
				return nil, errDamaged
			}
		}
		for objects := known.Read(r.text()); objects.More(); {
			o, err := objects.Next()
			if err != nil {
				return nil, err
			}
			p.Objects = append(p.Objects, o)
		}
		out.Parts = append(out.Parts, p)
	}
	for range r.count() {
		out.Notes = append(out.Notes, string(r.text()))
	}
	if r.rest == nil || len(r.rest) > 0 {
		return nil, errDamaged
	}
	return out, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A reader cuts an entry into its parts. After a fault, rest is nil and all that
// it gives is empty.
type reader struct{ rest []byte }

func (r *reader) count() int {
	n, used := binary.Uvarint(r.rest)
	if used <= 0 || n > uint64(len(r.rest)) {
		r.rest = nil
		return 0
	}
	r.rest = r.rest[used:]
	return int(n)
}

func (r *reader) text() []byte {
	n := r.count()
	if n > len(r.rest) {
		r.rest = nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
