package object

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

// Append appends an object as AppendWire does, for WireReader.Batch.
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
// well-formed objects or an error. See WireParts.Read.
type WireReader struct {
	known *WireParts
	rest  []byte
}

var errWire = errors.New("an object was cut off or garbled on its way from another process")

// More says whether there is another object.
func (r *WireReader) More() bool { return len(r.rest) > 0 }

// Next gives the next object that AppendWire wrote.
func (r *WireReader) Next() (*Object, error) {
	o, same, err := r.next()
	if err != nil || same > 0 {
		return nil, errWire
	}
	return o, nil
}

// A WireBatch is some objects that one WireWriter wrote. Those that refer to the content
// of earlier ones, maybe of another batch, have none until Join.
type WireBatch struct {
	objects []*Object
	same    []uint64 // of each, the place of its content among the roots, counted from 1; 0 for its own
}

// Batch reads all objects that are left.
func (r *WireReader) Batch() (b WireBatch, err error) {
	for r.More() {
		o, same, err := r.next()
		if err != nil {
			return WireBatch{}, err
		}
		b.objects, b.same = append(b.objects, o), append(b.same, same)
	}
	return b, nil
}

// Join gives the objects of a batch, whole. Roots is the content of the objects of all
// batches before, in the order in which they were written, to which that of this one is
// added. A batch can be joined once.
func (b WireBatch) Join(roots *WireRoots) ([]*Object, error) {
	for i, o := range b.objects {
		switch at := b.same[i]; {
		case at == 0:
			roots.roots = append(roots.roots, o.root)
		case at > uint64(len(roots.roots)):
			return nil, errWire
		default:
			o.root = roots.roots[at-1]
		}
	}
	return b.objects, nil
}

// next reads an object, or one without content and where that is: see WireBatch.
func (r *WireReader) next() (o *Object, same uint64, err error) {
	var head [6]string
	for i := range head {
		s, err := r.text()
		if err != nil {
			return nil, 0, err
		}
		head[i] = r.known.key(s)
	}
	line, err := r.uvarint()
	if err != nil {
		return nil, 0, err
	}
	root, same, err := r.root()
	if err != nil {
		return nil, 0, err
	}
	if head[1] == "" || head[2] == "" || head[4] == "" || head[5] == "" || line > math.MaxInt32 {
		return nil, 0, errWire
	}
	return &Object{
		Ref:        Ref{Unit: head[0], Group: group(head[1]), Kind: head[2], Namespace: head[3], Name: head[4]},
		Origin:     Origin{Path: head[5], Line: int(line)},
		apiVersion: head[1],
		root:       root,
	}, same, nil
}

func (r *WireReader) root() (root *mapping, same uint64, err error) {
	tag, err := r.take(1)
	if err != nil {
		return nil, 0, err
	}
	if tag[0] == wireSame {
		at, err := r.uvarint()
		if err != nil || at == math.MaxUint64 {
			return nil, 0, errWire
		}
		return nil, at + 1, nil
	}
	// The whole of an object is shared by references alone: see Object.Shares.
	if tag[0] != wireMap {
		return nil, 0, errWire
	}
	content, after, err := r.content()
	if err != nil {
		return nil, 0, err
	}
	v, err := r.whole(r.mapping, content, after, 0)
	if err != nil {
		return nil, 0, err
	}
	return v.(*mapping), 0, nil
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
			return r.known.key(b), err
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
	id := r.known.id(tag, content)
	if known, ok := r.known.part(id); ok {
		r.rest = after
		return known, nil
	}
	v, err := r.whole(read, content, after, depth)
	if err != nil {
		return nil, err
	}
	r.known.keep(id, v, n)
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
		k := r.known.key(b)
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
