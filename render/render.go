// Package render turns files into the objects that Kubernetes would be given.
// Each engine is a folder below: it proposes the units that it finds, says which
// files a unit depends on, and renders one.
package render

import (
	"context"
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
)

// A Unit renders alone: a Tanka environment file, a Kustomize overlay, a chart
// with one set of values, a folder of plain manifests.
type Unit struct {
	Renderer string // the renderer's Name
	Path     string // folder or file, relative to the tree's root
	// Variant tells units of one path apart, such as the values file that is
	// laid over a chart; "" where there is just one.
	Variant string
}

// Name is what users write and read: the path, and the variant after a colon.
func (u Unit) Name() string {
	if u.Variant == "" {
		return u.Path
	}
	return u.Path + ":" + u.Variant
}

// A Renderer knows one way to turn files into objects.
type Renderer interface {
	// Name is the word users see, such as "tanka".
	Name() string
	// Find proposes the units of a tree in byte order. It reads files and runs nothing.
	Find(t *source.Tree) (Found, error)
	// Inputs says what rendering u would look at, without running anything.
	Inputs(t *source.Tree, u Unit) (Inputs, error)
	// Render renders u. The error speaks of the unit as a whole; what went wrong
	// with single files is in Output.Problems.
	Render(ctx context.Context, t *source.Tree, u Unit) (*Output, error)
}

// Found is what a renderer makes of a tree.
type Found struct {
	Units []Unit
	// Claims are the files and folders (all below them) that belong to this
	// renderer and are therefore not plain manifests.
	Claims []string
	// Takes are folders that units here render as a part of themselves, such as a
	// chart that an overlay inflates: they are no units of another renderer.
	Takes []string
	// Skipped names what looked like a unit and is none, with the reason.
	Skipped []Skipped
}

// A Skipped is something that was left out on purpose, and why.
type Skipped struct{ Path, Reason string }

// Inputs is everything that can change what a unit renders to. A unit whose
// inputs are the same in both trees is not rendered.
type Inputs struct {
	Files   []string // read if there
	Dirs    []string // read with all below them
	Missing []string // looked for and not found: a file that appears there, or below, is a change
	// Unknown says why the inputs cannot be told without running the unit; it
	// is then always rendered. "" when they can.
	Unknown string
}

// Output is what one unit rendered to.
type Output struct {
	// Parts are the sets of objects that go to one cluster and namespace each:
	// one for most units, one an environment for inline Tanka environments.
	Parts []Part
	// Problems are files that could not be read; what else the unit has is in Parts.
	Problems []Problem
	Notes    []string // said beside the unit
	// Partial says why Parts are not what the cluster would get, such as "chart not
	// rendered: it is remote". What Parts do hold, such as the values for that chart,
	// is compared all the same, and the unit counts as skipped. "" when they are.
	Partial string
	// Kept says that objects may share their content with those that the same unit
	// gave when it was last rendered, on the other side: object.Documents does so.
	Kept bool
}

// A Part is a named share of a unit's objects.
type Part struct {
	Name    string // the unit's path, followed by ":" and the environment's name when there are several
	Objects []*object.Object
	// Target is what says where the objects go and how, such as a Tanka environment.
	// It is compared like them, and is no manifest itself. Nil where nothing says so.
	Target *object.Object
}

// A Problem is one file that could not be read.
type Problem struct {
	Path string
	Line int // 0 when not known
	// Part is the name of the part whose objects are not all known; "" when
	// objects of the file may be missing from every part.
	Part string
	Err  error
	// Refused tells, by a digest, which document it is that kubectl would refuse
	// while it applies the rest of the file. One that was so before is none of the
	// change's doing: it is said, and the rest is compared. "" for other problems.
	Refused string
}

// Broken says whether there is a problem that costs more than the document itself.
func (o *Output) Broken() bool {
	return slices.ContainsFunc(o.Problems, func(p Problem) bool { return p.Refused == "" })
}

func (p Problem) Error() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", p.Path, p.Line, p.Err)
	}
	return fmt.Sprintf("%s: %v", p.Path, p.Err)
}

// Unwrap gives the cause.
func (p Problem) Unwrap() error { return p.Err }
