package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
)

// A child is one process, seen from the run. One caller at a time.
type child struct {
	opts   Options
	cmd    *exec.Cmd
	dir    string // its working directory, empty
	in     *bufio.Writer
	inPipe io.Closer
	out    *bufio.Reader
	stderr *headBuffer
	waited sync.Once

	knows  map[int]bool // sides it was told of
	last   [2]string    // renderer and path of the unit that it had last
	times  int          // how often it had that one, for one side after the other
	kept   object.WireRoots
	units  int     // rendered so far
	memory int64   // bytes in use after the last one
	guards []Guard // what it says that it is held by; with probing only
	dead   bool

	mu      sync.Mutex
	working bool  // on a unit
	stopped error // why it was killed; nil when it was not
}

// start starts a child and waits until it has shut itself in.
func start(o Options) (*child, error) { return startWith(o, false) }

func startWith(o Options, probe bool) (_ *child, err error) {
	c := &child{opts: o, knows: map[int]bool{}, stderr: &headBuffer{}}
	if c.dir, err = os.MkdirTemp("", "prdiff-render-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	c.cmd = exec.Command(o.Command[0], o.Command[1:]...)
	c.cmd.Args[0] = "prdiff"
	c.cmd.Dir = c.dir
	c.cmd.Env = []string{}
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = ownGroup()
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.inPipe, c.in, c.out = in, bufio.NewWriterSize(in, 64<<10), bufio.NewReaderSize(out, 64<<10)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	// Where a folder in use can be removed, nothing is left behind even when this
	// process is killed.
	_ = os.Remove(c.dir)
	// A system that is so busy that this takes as long renders nothing anyway.
	timer := time.AfterFunc(30*time.Second, func() { c.kill(errors.New("did not get ready within 30 s")) })
	defer timer.Stop()
	hello := appendFields(nil, string(object.RunKey()), strconv.FormatInt(o.Memory, 10), strconv.FormatInt(int64(max(o.Timeout, 0)), 10), strconv.FormatBool(probe),
		strconv.FormatInt(o.heap(), 10))
	if err := c.send(frameHello, hello); err != nil {
		return nil, c.obituary(err)
	}
	kind, payload, err := readFrame(c.out, nil)
	if err == nil && kind != frameReady {
		err = errFrame
	}
	if err == nil {
		c.guards, err = cutGuards(payload)
	}
	if err != nil {
		return nil, c.obituary(err)
	}
	return c, nil
}

func (c *child) send(kind byte, payload ...[]byte) error {
	if err := writeFrame(c.in, kind, payload...); err != nil {
		return err
	}
	return c.in.Flush()
}

// kill ends the process and whatever it may have started. The first reason counts.
func (c *child) kill(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(why)
}

// stop is kill with c.mu held.
func (c *child) stop(why error) {
	if c.stopped == nil {
		c.stopped = why
	}
	killGroup(c.cmd.Process)
}

// killWorking kills the child if it is still at work for the caller's unit, the
// nth: limits end with the unit.
func (c *child) killWorking(n int, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working && c.units == n {
		c.stop(why)
	}
}

// setWorking says whether the child is alive.
func (c *child) setWorking(working bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = working
	if !working {
		c.units++
	}
	return c.stopped == nil
}

// end ends the process and takes its folder away.
func (c *child) end() {
	c.dead = true
	if c.cmd != nil && c.cmd.Process != nil {
		c.kill(errors.New("was no longer needed"))
		c.wait()
	}
	_ = os.Remove(c.dir)
}

func (c *child) wait() {
	c.waited.Do(func() {
		_ = c.inPipe.Close()
		_ = c.cmd.Wait() // what it says is in ProcessState
	})
}

// obituary ends a child that failed its part of the protocol, and says why it did.
func (c *child) obituary(err error) error {
	c.mu.Lock()
	why := c.stopped
	c.mu.Unlock()
	c.dead = true
	if why == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !isBrokenPipe(err) {
		why = fmt.Errorf("its process was ended: %w", err)
		c.kill(why)
	}
	if why != nil {
		c.kill(why)
	}
	c.wait()
	if why != nil {
		return why
	}
	return reasonOf(c.cmd.ProcessState, c.stderr.String(), c.opts.Memory)
}

// render renders one unit. Afterwards the child is dead or ready for the next.
func (c *child) render(ctx context.Context, s *Side, u render.Unit, timeout time.Duration) (*render.Output, error) {
	n := c.units
	c.setWorking(true)
	stop := context.AfterFunc(ctx, func() { c.killWorking(n, context.Cause(ctx)) })
	defer stop()
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { c.killWorking(n, fmt.Errorf("stopped after %s (--timeout)", seconds(timeout))) })
		defer timer.Stop()
	}
	out, failed, err := c.converse(s, u)
	alive := c.setWorking(false)
	if err == nil {
		// Killed in the moment it was done: what it said counts, but it is no more.
		c.dead = !alive
		return out, failed
	}
	return nil, c.obituary(err)
}

// converse sends a unit and reads until it is done. Failed is the renderer's own
// answer, err one that the child does not live through.
func (c *child) converse(s *Side, u render.Unit) (out *render.Output, failed, err error) {
	if !c.knows[s.id] {
		c.knows[s.id] = true
		about := appendFields(nil, strconv.Itoa(s.id), s.tree.Rev, s.tree.Noun(), string(s.settings))
		if err := c.send(frameSide, about); err != nil {
			return nil, nil, err
		}
	}
	if err := c.send(frameRender, appendFields(nil, strconv.Itoa(s.id), u.Renderer, u.Path, u.Variant)); err != nil {
		return nil, nil, err
	}
	if last := [2]string{u.Renderer, u.Path}; last != c.last {
		c.last, c.times = last, 0
	}
	c.times++
	r := reading{known: &s.pool.known, kept: &c.kept, slots: make(chan struct{}, decoders), spares: make(chan []byte, decoders)}
	defer r.decoding.Wait()
	for {
		kind, payload, err := readFrame(c.out, r.spare())
		if err != nil {
			return nil, nil, err
		}
		switch kind {
		case frameAsk:
			answer, content := s.tree.Answer(payload, maxFrame)
			if err := c.send(frameAnswer, answer, content); err != nil {
				return nil, nil, err
			}
		case frameDone:
			used, n := binary.Varint(payload)
			if n <= 0 {
				return nil, nil, errFrame
			}
			c.memory = used
			out, err = r.end()
			return out, nil, err
		case frameFailed:
			f, err := cutFields(payload, 2)
			if err != nil {
				return nil, nil, err
			}
			text := f[1]
			if f[0] == failedSkip || f[0] == failedMistake {
				return nil, &render.SkipError{Reason: text, Mistake: f[0] == failedMistake}, nil
			}
			return nil, errors.New(text), nil
		default:
			if err := r.add(kind, payload); err != nil {
				return nil, nil, err
			}
		}
	}
}

// The first field of frameFailed.
const (
	failedSkip    = "skip"    // a render.SkipError
	failedMistake = "mistake" // one that is the repository's fault
	failedError   = "error"
)

// A headBuffer keeps the first bytes of what is written: a crash begins with its
// reason and goes on with stacks.
type headBuffer struct {
	mu   sync.Mutex
	data []byte
}

func (b *headBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p[:min(len(p), 8<<10-len(b.data))]...)
	return len(p), nil
}

func (b *headBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.data)
}
