package object

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Documents keeps what the YAML documents of files gave. Both sides of a change
// have most of their documents in common, byte for byte: read with one Documents,
// each of these is read once, and the objects of both share their content. The
// zero value knows none; nil keeps none. Not safe for concurrent use.
type Documents struct {
	known map[string]given // by the text of the document
	size  int              // bytes of all texts
}

// maxKnownText bounds the text in bytes that a Documents keeps.
const maxKnownText = 256 << 20

// A given is what one document gave, for the line at which it was first read.
type given struct {
	line       int
	objects    []*Object
	errs       []error // each a *ParseError
	unreadable bool
}

// at gives the same document as it stands at a line of a file. Content is shared.
func (g given) at(unit, path string, line int) given {
	moved := given{line: line, unreadable: g.unreadable, objects: make([]*Object, 0, len(g.objects))}
	for _, o := range g.objects {
		copied := *o
		copied.Ref.Unit, copied.Origin.Path = unit, path
		copied.Origin.Line += line - g.line
		moved.objects = append(moved.objects, &copied)
	}
	for _, err := range g.errs {
		at := *err.(*ParseError)
		at.Path = path
		if at.Line > 0 {
			at.Line += line - g.line
		}
		moved.errs = append(moved.errs, &at)
	}
	return moved
}

// parallelText is the size in bytes above which documents are read on several
// cores: below, starting to do so takes as long as reading them.
const parallelText = 256 << 10

// readYAML reads the documents of a file.
func (r *reader) readYAML(text string) {
	chunks := splitDocuments(text)
	read := make([]given, len(chunks))
	each(len(chunks), len(text) >= parallelText, func(from, to int) {
		for i := from; i < to; i++ {
			c := chunks[i]
			one := text[c.start:c.end]
			if g, ok := r.known.lookUp(one); ok {
				read[i] = g.at(r.unit, r.path, c.line)
				continue
			}
			read[i] = r.readOne(one, c.line)
		}
	})
	for i, g := range read {
		r.known.keep(text[chunks[i].start:chunks[i].end], g)
		r.objects = append(r.objects, g.objects...)
		r.errs = append(r.errs, g.errs...)
		r.unreadable = r.unreadable || g.unreadable
	}
}

func (r *reader) readOne(text string, line int) given {
	one := reader{unit: r.unit, path: r.path}
	d, err := decodeYAML(text, line)
	if err != nil {
		one.unreadable = true
		one.failAt(line, err)
	} else {
		one.text = text
		one.add(d)
	}
	return given{line, one.objects, one.errs, one.unreadable}
}

// each calls f for ranges that make up 0 to n, on several cores when asked to.
func each(n int, parallel bool, f func(from, to int)) {
	const step = 32
	cores := min(runtime.GOMAXPROCS(0), (n+step-1)/step)
	if !parallel || cores < 2 {
		f(0, n)
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range cores {
		group.Go(func() {
			for {
				from := int(next.Add(step)) - step
				if from >= n {
					return
				}
				f(from, min(from+step, n))
			}
		})
	}
	group.Wait()
}

func (d *Documents) lookUp(text string) (given, bool) {
	if d == nil {
		return given{}, false
	}
	g, ok := d.known[text]
	return g, ok
}

func (d *Documents) keep(text string, g given) {
	if d == nil || d.size+len(text) > maxKnownText {
		return
	}
	if d.known == nil {
		d.known = map[string]given{}
	}
	if _, ok := d.known[text]; !ok {
		d.known[text] = g
		d.size += len(text)
	}
}
