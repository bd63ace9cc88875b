package object

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"strings"
)

// The first byte of each value on the wire.
const (
	wireNil = iota
	wireMap
	wireList
	wireText
	wireInt
	wireFloat
	wireTrue
	wireFalse
	wireMasked
	wireSame // the whole content of an object that was written before
)

// AppendWire appends an object in the form that a WireReader reads, for handing
// it to another process of this run. Secrets stay masked: they can be compared
// there when both processes have one RunKey.
func (o *Object) AppendWire(b []byte) []byte {
	return appendWireValue(o.appendWireHead(b), o.root)
}

func (o *Object) appendWireHead(b []byte) []byte {
	for _, s := range []string{o.Ref.Unit, o.apiVersion, o.Ref.Kind, o.Ref.Namespace, o.Ref.Name, o.Origin.Path} {
		b = appendWireText(b, s)
	}
	return binary.AppendUvarint(b, uint64(max(o.Origin.Line, 0)))
}

// A WireWriter writes objects to one WireRoots. Content that it wrote before, as
// objects that one Documents gave share it, is written as a reference. It keeps
// what it wrote. The zero value has written nothing.
type WireWriter struct {
	sent map[*mapping]uint64 // the place of each root among those that were written
}

// Append appends an object as AppendWire does, for WireReader.NextOf.
func (w *WireWriter) Append(b []byte, o *Object) []byte {
	b = o.appendWireHead(b)
	if at, ok := w.sent[o.root]; ok {
		return binary.AppendUvarint(append(b, wireSame), at)
	}
	if w.sent == nil {
		w.sent = map[*mapping]uint64{}
	}
	w.sent[o.root] = uint64(len(w.sent))
	return appendWireValue(b, o.root)
}

// WireRoots is the content of the objects that one WireWriter wrote, as read.
type WireRoots struct{ roots []*mapping }

// Masks says whether the object holds a secret, which is masked.
func (o *Object) Masks() bool { return masks(o.root) }

func masks(v any) bool {
	switch v := v.(type) {
	case *Masked:
		return true
	case *mapping:
		for _, p := range v.pairs {
			if masks(p.value) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if masks(item) {
				return true
			}
		}
	}
	return false
}

func appendWireText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendWireValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case *mapping:
		start := len(b) + 1
		b = binary.AppendUvarint(append(b, wireMap, 0, 0, 0, 0), uint64(len(v.pairs)))
		for _, p := range v.pairs {
			b = appendWireValue(appendWireText(b, p.key), p.value)
		}
		return putLength(b, start)
	case []any:
		start := len(b) + 1
		b = binary.AppendUvarint(append(b, wireList, 0, 0, 0, 0), uint64(len(v)))
		for _, item := range v {
			b = appendWireValue(b, item)
		}
		return putLength(b, start)
	case string:
		return appendWireText(append(b, wireText), v)
	case int64:
		return binary.AppendVarint(append(b, wireInt), v)
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, wireFloat), math.Float64bits(v))
	case bool:
		if v {
			return append(b, wireTrue)
		}
		return append(b, wireFalse)
	case *Masked:
		b = appendWireText(append(b, wireMasked), v.Shown)
		b = binary.AppendUvarint(b, uint64(len(v.parts)))
		for _, p := range v.parts {
			b = append(binary.AppendUvarint(b, uint64(p.at)), p.sum[:]...)
		}
		return b
	}
	return append(b, wireNil)
}

// wireLength is the size in bytes of the length that stands before the content of
// maps and lists, so that a reader can tell one that it knows without reading it.
const wireLength = 4

func putLength(b []byte, at int) []byte {
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-wireLength))
	return b
}

// A WireReader reads objects that AppendWire wrote, one after the other. Its
// bytes may come from a process that is not trusted: whatever they are, it gives
// well-formed objects or an error. What repeats, keys and whole parts of objects,
// is in memory once, also over several Resets: both sides of a change, and the
// environments of a repository, have most of their content in common. The zero
// value is a reader of nothing.
type WireReader struct {
	rest  []byte
	keys  map[string]string
	parts []knownPart // maps and lists, each at a place that its ID tells
	size  int         // bytes on the wire of parts
	seeds [2]maphash.Seed
}

// A partID stands for the bytes of a map or list. They are hashed with seeds that
// nobody knows, so that two parts with one ID cannot be made.
type partID [2]uint64

// A knownPart is a part that was read. A later one takes its place where both have one:
// what repeats comes again soon.
type knownPart struct {
	id    partID
	value any
	size  int
}

// Limits on what is kept for sharing, in bytes on the wire, of which one takes some
// four in memory; and how many parts there are places for.
const (
	minPart, maxPart = 12, 4 << 10
	maxParts         = 4 << 20
	partPlaces       = 1 << 15
)

var errWire = errors.New("an object was cut off or garbled on its way from another process")

// Reset makes b what is read next; b is not kept once all is read.
func (r *WireReader) Reset(b []byte) { r.rest = b }

// More says whether there is another object.
func (r *WireReader) More() bool { return len(r.rest) > 0 }

// Next gives the next object that AppendWire wrote.
func (r *WireReader) Next() (*Object, error) { return r.NextOf(nil) }

// NextOf gives the next object that the WireWriter wrote whose content is in
// roots, and adds to them.
func (r *WireReader) NextOf(roots *WireRoots) (*Object, error) {
	var head [6]string
	for i := range head {
		s, err := r.text()
		if err != nil {
			return nil, err
		}
		head[i] = r.key(s)
	}
	line, err := r.uvarint()
	if err != nil {
		return nil, err
	}
	root, err := r.root(roots)
	if err != nil {
		return nil, err
	}
	if head[1] == "" || head[2] == "" || head[4] == "" || head[5] == "" || line > math.MaxInt32 {
		return nil, errWire
	}
	return &Object{
		Ref:        Ref{Unit: head[0], Group: group(head[1]), Kind: head[2], Namespace: head[3], Name: head[4]},
		Origin:     Origin{Path: head[5], Line: int(line)},
		apiVersion: head[1],
		root:       root,
	}, nil
}

func (r *WireReader) root(roots *WireRoots) (*mapping, error) {
	if roots != nil && len(r.rest) > 0 && r.rest[0] == wireSame {
		r.rest = r.rest[1:]
		at, err := r.uvarint()
		if err != nil || at >= uint64(len(roots.roots)) {
			return nil, errWire
		}
		return roots.roots[at], nil
	}
	// The whole of an object is shared by references alone: see Object.Shares.
	tag, err := r.take(1)
	if err != nil || tag[0] != wireMap {
		return nil, errWire
	}
	content, after, err := r.content()
	if err != nil {
		return nil, err
	}
	v, err := r.whole(r.mapping, content, after, 0)
	if err != nil {
		return nil, err
	}
	root := v.(*mapping)
	if roots != nil {
		roots.roots = append(roots.roots, root)
	}
	return root, nil
}

func (r *WireReader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		return 0, errWire
	}
	r.rest = r.rest[n:]
	return v, nil
}

// count reads how many items follow, each of which takes a byte at least.
func (r *WireReader) count() (int, error) {
	n, err := r.uvarint()
	if err != nil || n > uint64(len(r.rest)) {
		return 0, errWire
	}
	return int(n), nil
}

func (r *WireReader) take(n int) ([]byte, error) {
	if n > len(r.rest) {
		return nil, errWire
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

func (r *WireReader) text() ([]byte, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

// key gives a text that is likely to come again.
func (r *WireReader) key(b []byte) string {
	if s, ok := r.keys[string(b)]; ok {
		return s
	}
	s := validText(b)
	if r.keys == nil {
		r.keys = map[string]string{}
	}
	if len(r.keys) < 1<<14 && len(s) < 128 {
		r.keys[s] = s
	}
	return s
}

func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func (r *WireReader) value(depth int) (any, error) {
	if depth > maxDepth+1 {
		return nil, errWire
	}
	tag, err := r.take(1)
	if err != nil {
		return nil, err
	}
	switch tag[0] {
	case wireNil:
		return nil, nil
	case wireTrue, wireFalse:
		return tag[0] == wireTrue, nil
	case wireMap, wireList:
		return r.part(tag[0], depth)
	case wireText:
		b, err := r.text()
		if len(b) < 32 {
			return r.key(b), err
		}
		return validText(b), err
	case wireInt:
		v, n := binary.Varint(r.rest)
		if n <= 0 {
			return nil, errWire
		}
		r.rest = r.rest[n:]
		return v, nil
	case wireFloat:
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		f := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errWire
		}
		return f, nil
	case wireMasked:
		return r.masked()
	}
	return nil, errWire
}

// part reads a map or list, or finds that it is known.
func (r *WireReader) part(tag byte, depth int) (any, error) {
	content, after, err := r.content()
	if err != nil {
		return nil, err
	}
	n := len(content)
	read := r.mapping
	if tag == wireList {
		read = r.list
	}
	if n < minPart || n > maxPart {
		return r.whole(read, content, after, depth)
	}
	id := r.id(tag, content)
	if r.parts == nil {
		r.parts = make([]knownPart, partPlaces)
	}
	if known := r.parts[id[0]%partPlaces]; known.id == id && known.value != nil {
		r.rest = after
		return known.value, nil
	}
	v, err := r.whole(read, content, after, depth)
	if err != nil {
		return nil, err
	}
	at := &r.parts[id[0]%partPlaces] // after reading what is in it, which may have it
	r.size += n - at.size
	*at = knownPart{id, v, n}
	if r.size > maxParts {
		clear(r.parts)
		r.size = 0
	}
	return v, nil
}

// content gives the bytes of a map or list, and what comes after them.
func (r *WireReader) content() (content, after []byte, err error) {
	head, err := r.take(wireLength)
	if err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint32(head)
	if uint64(n) > uint64(len(r.rest)) {
		return nil, nil, errWire
	}
	return r.rest[:n], r.rest[n:], nil
}

// whole reads all of content, which must be one value.
func (r *WireReader) whole(read func(int) (any, error), content, after []byte, depth int) (any, error) {
	r.rest = content
	v, err := read(depth)
	if err == nil && len(r.rest) > 0 {
		err = errWire
	}
	r.rest = after
	return v, err
}

func (r *WireReader) id(tag byte, content []byte) (id partID) {
	for i := range r.seeds {
		if r.seeds[i] == (maphash.Seed{}) {
			r.seeds[i] = maphash.MakeSeed()
		}
		id[i] = maphash.Bytes(r.seeds[i], content)
	}
	id[0] ^= uint64(tag)
	return id
}

func (r *WireReader) mapping(depth int) (any, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	m := &mapping{make([]pair, 0, min(n, 1024))}
	for range n {
		b, err := r.text()
		if err != nil {
			return nil, err
		}
		k := r.key(b)
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if v == nil {
			v = null{} // others were dropped when the object was made
		}
		m.pairs = append(m.pairs, pair{k, v})
	}
	if !ordered(m.pairs) {
		return nil, errWire
	}
	return m, nil
}

func (r *WireReader) list(depth int) (any, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	l := make([]any, 0, min(n, 1024))
	for range n {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

func (r *WireReader) masked() (any, error) {
	b, err := r.text()
	if err != nil {
		return nil, err
	}
	m := &Masked{Shown: validText(b)}
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	end := 0
	for range n {
		at, err := r.uvarint()
		if err != nil {
			return nil, err
		}
		sum, err := r.take(sha256.Size)
		if err != nil {
			return nil, err
		}
		// Each part stands behind the one before it, and its mask is there.
		if at < uint64(end) || at > uint64(len(m.Shown)) || !strings.HasPrefix(m.Shown[at:], Mask) {
			return nil, errWire
		}
		end = int(at) + len(Mask)
		m.parts = append(m.parts, maskedPart{int(at), [sha256.Size]byte(sum)})
	}
	return m, nil
}
