package worker

import (
	"errors"
	"fmt"
	"io"
	"strconv"

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

// writeOutput sends what a unit rendered to.
func writeOutput(w io.Writer, out *render.Output) error {
	var b []byte
	for _, p := range out.Parts {
		if err := writeFrame(w, framePart, []byte(p.Name)); err != nil {
			return err
		}
		b = b[:0]
		for i, o := range p.Objects {
			b = o.AppendWire(b)
			if len(b) < objectsFrame && i < len(p.Objects)-1 {
				continue
			}
			if err := writeFrame(w, frameObjects, b); err != nil {
				return fmt.Errorf("%s: %w", o.Ref, err)
			}
			b = b[:0]
		}
	}
	for _, p := range out.Problems {
		if err := writeFrame(w, frameProblem, appendFields(nil, p.Path, strconv.Itoa(p.Line), p.Err.Error())); err != nil {
			return err
		}
	}
	for _, n := range out.Notes {
		if err := writeFrame(w, frameNote, []byte(n)); err != nil {
			return err
		}
	}
	if out.Partial != "" {
		return writeFrame(w, framePartial, []byte(out.Partial))
	}
	return nil
}

// A reading is an output that is being read, of a process that is not trusted.
type reading struct {
	out     render.Output
	objects object.WireReader
	size    int // bytes read
	texts   int
}

// add takes one frame in.
func (r *reading) add(kind byte, payload []byte) error {
	if r.size += len(payload); r.size > maxOutput {
		return fmt.Errorf("it renders to more than %d MiB", maxOutput>>20)
	}
	if kind != frameObjects {
		if r.texts++; r.texts > maxTexts {
			return fmt.Errorf("it has more than %d parts, problems and notes", maxTexts)
		}
	}
	switch kind {
	case framePart:
		r.out.Parts = append(r.out.Parts, render.Part{Name: string(payload)})
	case frameObjects:
		return r.addObjects(payload)
	case frameProblem:
		f, err := cutFields(payload, 3)
		if err != nil {
			return err
		}
		line, err := strconv.Atoi(f[1])
		if err != nil {
			return errFrame
		}
		r.out.Problems = append(r.out.Problems, render.Problem{Path: f[0], Line: line, Err: errors.New(object.MaskText(f[2]))})
	case frameNote:
		r.out.Notes = append(r.out.Notes, object.MaskText(string(payload)))
	case framePartial:
		r.out.Partial = object.MaskText(string(payload))
	default:
		return errFrame
	}
	return nil
}

func (r *reading) addObjects(payload []byte) error {
	if len(r.out.Parts) == 0 {
		return errFrame
	}
	part := &r.out.Parts[len(r.out.Parts)-1]
	r.objects.Reset(payload)
	for r.objects.More() {
		o, err := r.objects.Next()
		if err != nil {
			return err
		}
		part.Objects = append(part.Objects, o)
	}
	return nil
}
