// Package jsonnet evaluates jsonnet programs that are read from a tree, and tells
// without evaluating them which files they can read. It renders plain jsonnet
// entry points, and carries what Tanka adds to the language: the import path,
// native functions, and the search for objects in an evaluated tree.
//
// A program sees the files of its tree under the virtual root "/", whatever
// folder or commit the tree comes from; it never sees the machine's own paths,
// and reads nothing outside the tree. Evaluation cannot be interrupted from
// outside: when a context ends, the caller gets its error at once, and the
// evaluation goes on in the background until its next import or native call, or
// its end. Time and memory are therefore bounded for certain only by the process
// around it.
package jsonnet

import (
	"sync"

	"github.com/prdiff/prdiff/internal/source"
)

// maxStack is the depth of calls at which evaluation stops, jsonnet's own
// default (https://jsonnet.org/ref/stdlib.html names 500 for --max-stack), plus
// the frames that snippet puts around a program.
const maxStack = 500 + 10

// maxDepth and maxNesting bound Scan.Depth and Scan.Nesting of what is parsed. The
// parser recurses on Go's stack, which ends the process at 1 GB; measured with
// go-jsonnet v0.22.0, a bracket takes 35 kB of it, other nesting up to 3 kB. Files
// that people write stay below 100 and 1,000.
const (
	maxDepth   = 5_000
	maxNesting = 100_000
)

// maxFile bounds a file that is imported, in bytes.
const maxFile = 64 << 20

// Vars are values that a program is given from outside. For one key, a later
// field of this struct wins, as in Tanka. Files are looked for in the root of
// the tree and then along the import path.
type Vars struct {
	ExtCode, ExtStr, ExtCodeFile, ExtStrFile map[string]string
	TLACode, TLAStr, TLACodeFile, TLAStrFile map[string]string
}

// Natives do what std.native('helmTemplate') and std.native('kustomizeBuild')
// ask for. A nil function makes the call an error that says what is missing.
type Natives struct {
	Helm      HelmFunc
	Kustomize KustomizeFunc
}

// An Engine evaluates programs. Parsed files are kept per tree and shared by all
// programs of that tree; values never are. Safe for concurrent use; the zero
// value is ready.
type Engine struct {
	Natives Natives

	mu    sync.Mutex
	sides map[*source.Tree]*Side
}

// On gives the side of the engine that reads t. It is made once per tree.
func (e *Engine) On(t *source.Tree) *Side {
	e.mu.Lock()
	defer e.mu.Unlock()
	side := e.sides[t]
	if side == nil {
		side = newSide(t, &e.Natives)
		if e.sides == nil {
			e.sides = map[*source.Tree]*Side{}
		}
		e.sides[t] = side
	}
	return side
}
