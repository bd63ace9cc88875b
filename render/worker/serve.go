package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// A Build makes the renderers of a side in a child, from the settings that
// Pool.Side was given. What it returns is asked for a renderer by its name, and
// gives nil for one that there is none of.
type Build func(t *source.Tree, settings []byte) (func(name string) render.Renderer, error)

// maxStack is the size in bytes that the stack of one goroutine may have. The
// deepest that text/template lets a template call itself takes half of it.
const maxStack = 256 << 20

// Serve is the whole life of a child: it shuts itself in, and renders what it is
// asked for until there is nothing more to come. It gives the exit code.
func Serve(in io.Reader, out io.Writer, build Build) int {
	s := &server{in: make(chan frame), out: bufio.NewWriterSize(out, 64<<10), build: build, sides: map[string]*served{}}
	r := bufio.NewReaderSize(in, 64<<10)
	kind, payload, err := readFrame(r, nil)
	if err != nil || kind != frameHello {
		fmt.Fprintf(os.Stderr, "%s is for prdiff itself\n", Argument)
		return 2
	}
	if err := s.hello(payload); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	go s.read(r)
	if err := s.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

type frame struct {
	kind    byte
	payload []byte
}

// A server is a child, seen from inside.
type server struct {
	in     chan frame
	out    *bufio.Writer
	build  Build
	sides  map[string]*served
	limits limits

	kept     object.WireWriter // of the units that give render.Output.Kept
	keptUnit [2]string         // renderer and path of the last one of these
}

// A served is one side that the child was told of.
type served struct {
	tree      *source.Tree
	renderers func(name string) render.Renderer
	err       error // why it has no renderers
}

type limits struct {
	memory  int64
	timeout time.Duration // 0 for none
}

func (s *server) hello(payload []byte) error {
	f, err := cutFields(payload, 5)
	if err != nil {
		return err
	}
	memory, err1 := strconv.ParseInt(f[1], 10, 64)
	timeout, err2 := strconv.ParseInt(f[2], 10, 64)
	probe, err3 := strconv.ParseBool(f[3])
	heap, err4 := strconv.ParseInt(f[4], 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	object.JoinRun([]byte(f[0]))
	s.limits = limits{memory, time.Duration(timeout)}
	closeInherited()
	tuneRuntime(memory)
	TuneGC(heap)
	held := shutIn(s.limits)
	go watchMemory(memory)
	if !probe {
		return s.send(frameReady)
	}
	return s.send(frameReady, appendGuards(nil, guards(held, s.limits)))
}

// tuneRuntime sets Go's own limits, and takes away what libraries could reach the
// network with, for systems where nothing else does.
func tuneRuntime(memory int64) {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU())) // the second one collects garbage
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(memory / 8 * 7)
	time.Local = time.UTC // what is rendered does not depend on the machine's zone
	http.DefaultTransport = refusal{}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errNetwork }}
}

// TuneGC lets the heap grow to target bytes before garbage is collected, where
// less is in use than half of that: evaluating jsonnet makes little but garbage,
// and collecting it each time that a small heap has doubled takes a quarter of the
// time. Above, Go's own rule holds. A process has one target: it is called once.
func TuneGC(target int64) {
	type cycle struct{ _ *int } // whose end is the end of a collection
	var tune func(*cycle)
	tune = func(*cycle) {
		m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
		metrics.Read(m)
		live := int64(m[0].Value.Uint64())
		roots := live + int64(m[1].Value.Uint64()+m[2].Value.Uint64())
		// A percentage of what is scanned is added to what is in use, and the least
		// heap is that percentage of 4 MiB (runtime/mgcpacer.go).
		percent := (target - live) * 100 / max(roots, 4<<20)
		debug.SetGCPercent(int(max(100, percent)))
		runtime.SetFinalizer(&cycle{}, tune)
	}
	tune(nil)
}

var errNetwork = errors.New("there is no network while rendering")

type refusal struct{}

func (refusal) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNetwork }

// watchMemory ends the process when it takes more than its limit, where the
// system does not, and before the system does where that is less clear.
func watchMemory(limit int64) {
	for ; ; time.Sleep(50 * time.Millisecond) {
		if memoryInUse() > limit {
			os.Exit(exitMemory)
		}
	}
}

func memoryInUse() int64 {
	m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(m)
	return int64(m[0].Value.Uint64() - m[1].Value.Uint64())
}

// read hands on what comes in. When nothing more can come, the run has ended, and
// whatever is being rendered is for nobody.
func (s *server) read(r *bufio.Reader) {
	for {
		kind, payload, err := readFrame(r, nil)
		if err != nil {
			os.Exit(0)
		}
		s.in <- frame{kind, payload}
	}
}

func (s *server) send(kind byte, payload ...[]byte) error {
	if err := writeFrame(s.out, kind, payload...); err != nil {
		return err
	}
	return s.out.Flush()
}

// serve never ends but with an error: read ends the process.
func (s *server) serve() error {
	for f := range s.in {
		switch f.kind {
		case frameSide:
			if err := s.side(f.payload); err != nil {
				return err
			}
		case frameRender:
			if err := s.render(f.payload); err != nil {
				return err
			}
		default:
			return errFrame
		}
	}
	return nil
}

func (s *server) side(payload []byte) error {
	f, err := cutFields(payload, 4)
	if err != nil {
		return err
	}
	id := f[0]
	number, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	ask := func(question []byte) ([]byte, error) { return s.ask(number, question) }
	s.sides[id] = &served{tree: source.NewRemote(f[1], f[2], ask)}
	// Built at the first unit: building may ask for files.
	settings := []byte(f[3])
	side := s.sides[id]
	side.renderers = func(name string) render.Renderer {
		renderers, err := s.build(side.tree, settings)
		if err != nil {
			side.err = err
			renderers = func(string) render.Renderer { return nil }
		}
		side.renderers = renderers
		return renderers(name)
	}
	return nil
}

// ask asks the run about a file. The renderers of one unit may ask from several
// goroutines; the tree lets one at a time through.
func (s *server) ask(_ int, question []byte) ([]byte, error) {
	if err := s.send(frameAsk, question); err != nil {
		return nil, err
	}
	f := <-s.in
	if f.kind != frameAnswer {
		return nil, errFrame
	}
	return f.payload, nil
}

func (s *server) render(payload []byte) error {
	f, err := cutFields(payload, 4)
	if err != nil {
		return err
	}
	side := s.sides[f[0]]
	if side == nil {
		return errFrame
	}
	startClock(s.limits.timeout)
	out, err := side.render(render.Unit{Renderer: f[1], Path: f[2], Variant: f[3]})
	if err == nil {
		err = s.write([2]string{f[1], f[2]}, out)
	}
	out = nil
	if err != nil {
		kind, text := failedError, err.Error()
		var skip *render.SkipError
		if errors.As(err, &skip) {
			kind, text = failedSkip, skip.Reason
			if skip.Mistake {
				kind = failedMistake
			}
		}
		return s.send(frameFailed, appendFields(nil, kind, maskText(text)))
	}
	return s.send(frameDone, binary.AppendVarint(nil, memoryInUse()))
}

// write sends an output. What was kept of one unit is forgotten with the next.
func (s *server) write(unit [2]string, out *render.Output) error {
	if !out.Kept {
		unit = [2]string{}
	}
	if unit != s.keptUnit {
		s.kept, s.keptUnit = object.WireWriter{}, unit
		if err := writeFrame(s.out, frameForget); err != nil {
			return err
		}
	}
	err := writeOutput(s.out, out, &s.kept)
	if err != nil {
		// What did not arrive must not be referred to.
		s.kept, s.keptUnit = object.WireWriter{}, [2]string{}
	}
	return err
}

// render renders one unit. A renderer that panics has failed at this unit only.
func (s *served) render(u render.Unit) (out *render.Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the renderer %s crashed: %v (at %s)", u.Path, u.Renderer, p, crashPlace())
		}
	}()
	r := s.renderers(u.Renderer)
	if s.err != nil {
		return nil, s.err
	}
	if r == nil {
		return nil, fmt.Errorf("%s: the renderer %s is switched off", u.Path, u.Renderer)
	}
	return r.Render(context.Background(), s.tree, u)
}

// crashPlace gives the function that panicked, for whoever mends it.
func crashPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if f.Function != "" && !bytes.HasPrefix([]byte(f.Function), []byte("runtime.")) {
			return f.Function
		}
		if !more {
			return "an unknown place"
		}
	}
}
