package worker

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
)

// objectsFrame is the size in bytes at which a frame of objects is sent.
const objectsFrame = 256 << 10

// Limits on what one unit may render to. A cluster's API server would refuse
// most of it long before.
const (
	maxOutput = 512 << 20 // bytes on the wire
	maxTexts  = 100_000   // problems, notes and parts
)

// writeOutput sends what a unit rendered to. Texts are masked here, within the
// unit's time, as objects were when they were made.
//
// An output that is Kept is written by kept, which knows what the same unit gave
// on the other side.
func writeOutput(w io.Writer, out *render.Output, kept *object.WireWriter) error {
	kind, write := byte(frameObjects), func(b []byte, o *object.Object) []byte { return o.AppendWire(b) }
	if out.Kept {
		kind, write = frameKept, kept.Append
	}
	var b []byte
	for _, p := range out.Parts {
		if err := writeFrame(w, framePart, []byte(p.Name)); err != nil {
			return err
		}
		if p.Target != nil {
			if err := writeFrame(w, frameTarget, p.Target.AppendWire(nil)); err != nil {
				return err
			}
		}
		b = b[:0]
		for i, o := range p.Objects {
			b = write(b, o)
			if len(b) < objectsFrame && i < len(p.Objects)-1 {
				continue
			}
			if err := writeFrame(w, kind, b); err != nil {
				return fmt.Errorf("%s: %w", o.Ref, err)
			}
			b = b[:0]
		}
	}
	for _, p := range out.Problems {
		if err := writeFrame(w, frameProblem, appendFields(nil, p.Path, strconv.Itoa(p.Line), maskText(p.Err.Error()), p.Refused)); err != nil {
			return err
		}
	}
	for _, n := range out.Notes {
		if err := writeFrame(w, frameNote, []byte(maskText(n))); err != nil {
			return err
		}
	}
	if out.Partial != "" {
		return writeFrame(w, framePartial, []byte(maskText(out.Partial)))
	}
	return nil
}

// maxErrorText bounds what one problem says, in bytes: jsonnet's error takes texts
// of any length.
const maxErrorText = 16 << 10

// maskText masks a text for people, and shortens one that nobody would read.
func maskText(text string) string {
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return object.MaskText(text)
}

// A reading is an output that is being read, of a process that is not trusted.
type reading struct {
	out   render.Output
	known *object.WireParts // of the run
	kept  *object.WireRoots // of the child
	size  int               // bytes read, and frameCost for each frame
	texts int

	batches  []*batch // of objects, in order
	decoding sync.WaitGroup
	failed   atomic.Bool   // one of them
	slots    chan struct{} // for those that are decoded
	spares   chan []byte   // frames that were, for others
}

// A batch is a frame of objects, or the end of what those before it may be referred to
// by later ones.
type batch struct {
	part    int // that the objects belong to
	kept    bool
	objects object.WireBatch
	err     error

	forget bool
}

// frameCost is what an empty frame counts as, in bytes: about what keeping it takes.
const frameCost = 128

// decoders is how many frames of one output are decoded at the same time.
const decoders = 2

// add takes one frame in.
func (r *reading) add(kind byte, payload []byte) error {
	if r.size += len(payload) + frameCost; r.size > maxOutput {
		return fmt.Errorf("it renders to more than %d MiB", maxOutput>>20)
	}
	if kind != frameObjects && kind != frameKept {
		if r.texts++; r.texts > maxTexts {
			return fmt.Errorf("it has more than %d parts, problems and notes", maxTexts)
		}
	}
	switch kind {
	case framePart:
		r.out.Parts = append(r.out.Parts, render.Part{Name: string(payload)})
	case frameTarget:
		return r.addTarget(payload)
	case frameObjects, frameKept:
		return r.addObjects(payload, kind == frameKept)
	case frameForget:
		r.batches = append(r.batches, &batch{forget: true})
	case frameProblem:
		f, err := cutFields(payload, 4)
		if err != nil {
			return err
		}
		line, err := strconv.Atoi(f[1])
		if err != nil {
			return errFrame
		}
		r.out.Problems = append(r.out.Problems, render.Problem{Path: f[0], Line: line, Err: errors.New(f[2]), Refused: f[3]})
	case frameNote:
		r.out.Notes = append(r.out.Notes, string(payload))
	case framePartial:
		r.out.Partial = string(payload)
	default:
		return errFrame
	}
	return nil
}

func (r *reading) addTarget(payload []byte) error {
	if len(r.out.Parts) == 0 {
		return errFrame
	}
	wire := r.known.Read(payload)
	o, err := wire.Next()
	if err != nil || wire.More() {
		return errFrame
	}
	r.out.Parts[len(r.out.Parts)-1].Target = o
	return nil
}

// addObjects has a frame decoded while the next one is read.
func (r *reading) addObjects(payload []byte, kept bool) error {
	if len(r.out.Parts) == 0 || r.failed.Load() {
		return errFrame
	}
	b := &batch{part: len(r.out.Parts) - 1, kept: kept}
	r.batches = append(r.batches, b)
	r.slots <- struct{}{}
	r.decoding.Go(func() {
		defer func() { <-r.slots }()
		if b.objects, b.err = r.known.Read(payload).Batch(); b.err != nil {
			r.failed.Store(true)
		}
		select {
		case r.spares <- payload:
		default:
		}
	})
	return nil
}

// spare gives memory for a frame, nil when there is none to use again.
func (r *reading) spare() []byte {
	select {
	case b := <-r.spares:
		return b
	default:
		return nil
	}
}

// end gives the output, once all of it was read.
func (r *reading) end() (*render.Output, error) {
	r.decoding.Wait()
	for _, b := range r.batches {
		switch {
		case b.err != nil:
			return nil, b.err
		case b.forget:
			*r.kept = object.WireRoots{}
			continue
		}
		roots := r.kept
		if !b.kept {
			roots = &object.WireRoots{} // of this frame alone: it refers to nothing
		}
		objects, err := b.objects.Join(roots)
		if err != nil {
			return nil, err
		}
		part := &r.out.Parts[b.part]
		part.Objects = append(part.Objects, objects...)
	}
	return &r.out, nil
}
