package object

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// WireParts is what repeats in objects that come from other processes, keys and whole
// parts of them, so that it is in memory once: both sides of a change, and the
// environments of a repository, have most of their content in common. The zero value
// knows nothing. Safe for concurrent use.
type WireParts struct {
	once  sync.Once
	seeds [2]maphash.Seed
	keys  []atomic.Pointer[string]    // each at a place that its hash tells
	parts []atomic.Pointer[knownPart] // maps and lists, each at a place that its ID tells
	size  atomic.Int64                // bytes on the wire of parts
}

// A knownPart is a part that was read. A later one takes its place where both have one:
// what repeats comes again soon.
type knownPart struct {
	id    partID
	value any
	size  int
}

// A partID stands for the bytes of a map or list. They are hashed with seeds that
// nobody knows, so that two parts with one ID cannot be made.
type partID [2]uint64

// Limits on what is kept for sharing: how long a key is and how many there are, and the
// same of parts, in bytes on the wire, of which one takes some four in memory.
const (
	maxSharedKey, keyPlaces = 128, 1 << 14
	minPart, maxPart        = 12, 4 << 10
	maxParts, partPlaces    = 4 << 20, 1 << 15
)

// Read gives a reader of objects that were written one after the other. What b holds is
// not referred to once they are read.
func (p *WireParts) Read(b []byte) *WireReader {
	p.once.Do(func() {
		p.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		p.keys = make([]atomic.Pointer[string], keyPlaces)
		p.parts = make([]atomic.Pointer[knownPart], partPlaces)
	})
	return &WireReader{known: p, rest: b}
}

// Forget gives the memory back.
func (p *WireParts) Forget() {
	for i := range p.keys {
		p.keys[i].Store(nil)
	}
	for i := range p.parts {
		p.parts[i].Store(nil)
	}
	p.size.Store(0)
}

// key gives a text that is likely to come again.
func (p *WireParts) key(b []byte) string {
	if len(b) >= maxSharedKey {
		return validText(b)
	}
	at := &p.keys[maphash.Bytes(p.seeds[0], b)%keyPlaces]
	if known := at.Load(); known != nil && *known == string(b) {
		return *known
	}
	s := validText(b)
	at.Store(&s)
	return s
}

func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func (p *WireParts) id(tag byte, content []byte) (id partID) {
	for i, seed := range p.seeds {
		id[i] = maphash.Bytes(seed, content)
	}
	id[0] ^= uint64(tag)
	return id
}

// part gives a part that is known.
func (p *WireParts) part(id partID) (any, bool) {
	if known := p.parts[id[0]%partPlaces].Load(); known != nil && known.id == id {
		return known.value, true
	}
	return nil, false
}

func (p *WireParts) keep(id partID, value any, size int) {
	if old := p.parts[id[0]%partPlaces].Swap(&knownPart{id, value, size}); old != nil {
		size -= old.size
	}
	if p.size.Add(int64(size)) > maxParts {
		p.Forget()
	}
}
