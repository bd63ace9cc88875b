package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The kinds of frames between a run and its children. Both sides are of one
// binary, so the protocol has no versions.
const (
	// To the child.
	frameHello  = 'h' // settings; always the first
	frameSide   = 's' // a tree, and how it is rendered
	frameRender = 'r' // a unit to render
	frameAnswer = 'a' // to frameAsk

	// To the run. A unit's frames end with frameDone or frameFailed.
	frameReady   = 'R' // the answer to frameHello
	frameAsk     = 'A' // a question about files, answered by frameAnswer
	framePart    = 'P' // the name of the part that the objects after it belong to
	frameTarget  = 'T' // the target of that part, as object.AppendWire writes it
	frameObjects = 'O' // objects as object.AppendWire writes them
	frameForget  = 'f' // what frameKept brought so far is not referred to any more
	frameKept    = 'K' // objects as one object.WireWriter writes them
	frameProblem = 'B'
	frameNote    = 'N'
	framePartial = 'p' // why the parts are not all
	frameDone    = 'D' // the unit is rendered; bytes of memory in use
	frameFailed  = 'F' // the unit is not rendered, and why
)

// maxFrame bounds a frame, in bytes: the largest file that is read
// (source.DefaultMaxFileSize), and as much for what is around it.
const maxFrame = 65 << 20

var errFrame = errors.New("a frame was cut off or too long")

// writeFrame writes length, kind and payload.
func writeFrame(w io.Writer, kind byte, payload ...[]byte) error {
	n := 0
	for _, p := range payload {
		n += len(p)
	}
	if n > maxFrame {
		return fmt.Errorf("%d bytes are more than the %d of one frame", n, maxFrame)
	}
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(n)), kind)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, p := range payload {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads one frame. The payload is the caller's, in spare where that has room,
// which may be nil. io.EOF means that
// there is none; io.ErrUnexpectedEOF that it is cut off.
func readFrame(r *bufio.Reader, spare []byte) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return 0, nil, errFrame
	}
	// What is announced is not allocated before it comes, but for usual files.
	payload = spare[:0]
	if uint32(cap(payload)) < n {
		payload = make([]byte, 0, min(n, 16<<20))
	}
	for uint32(len(payload)) < n {
		if len(payload) == cap(payload) {
			payload = append(payload, 0)[:len(payload)]
		}
		step := payload[len(payload):min(cap(payload), int(n))]
		m, err := io.ReadFull(r, step)
		payload = payload[:len(payload)+m]
		if err != nil {
			return 0, nil, io.ErrUnexpectedEOF
		}
	}
	return head[4], payload, nil
}

// A field list is the payload of frames with several texts.
func appendFields(b []byte, fields ...string) []byte {
	for _, f := range fields {
		b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
	}
	return b
}

// cutFields reads exactly n fields.
func cutFields(b []byte, n int) ([]string, error) {
	out, rest, err := cutSomeFields(b, n)
	if err == nil && len(rest) > 0 {
		err = errFrame
	}
	return out, err
}

// cutSomeFields reads the first n fields.
func cutSomeFields(b []byte, n int) (fields []string, rest []byte, err error) {
	for range n {
		size, used := binary.Uvarint(b)
		if used <= 0 || size > uint64(len(b)-used) {
			return nil, nil, errFrame
		}
		b = b[used:]
		fields = append(fields, string(b[:size]))
		b = b[size:]
	}
	return fields, b, nil
}
