// Package worker renders units in child processes that can do no harm: rendering
// runs code that strangers wrote. A child is a process of the same binary with an
// empty environment, three pipes and an empty folder. It opens no file and no
// connection and starts no program; what it needs of a tree it asks for, and it
// is bounded in memory and time. It is kept for many units, so that libraries are
// parsed once. When it dies, the unit that it worked on has failed, and the next
// one gets a fresh child.
//
// What holds a child is told by Probe. On Linux it is a seccomp filter that knows
// only the calls that Go's runtime needs, beside Landlock and resource limits;
// elsewhere less can be had. User namespaces would add nothing to the filter, and
// are switched off in many places where prdiff runs (Ubuntu since 23.10, Docker).
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Argument is the only argument of a child: a program that uses a Pool calls
// Serve when it is started with it.
const Argument = "__render"

// The limits of a child.
const (
	DefaultTimeout = 60 * time.Second
	DefaultMemory  = 4 << 30 // bytes
)

// Options tunes a Pool. The zero value is the default.
type Options struct {
	// Command is the program to start and its arguments, the last of which is
	// Argument. Nil means this program.
	Command []string
	Jobs    int           // children at the same time; 0 means one a core
	Timeout time.Duration // for one unit on one side; 0 means DefaultTimeout, less than 0 no limit
	Memory  int64         // bytes that a child may take; 0 means DefaultMemory
}

func (o Options) withDefaults() Options {
	if len(o.Command) == 0 {
		// Not os.Executable: an upgrade may have replaced the file by now, and
		// both sides of the protocol must be of one build.
		o.Command = []string{"/proc/self/exe", Argument}
		if runtime.GOOS != "linux" {
			exe, err := os.Executable()
			if err != nil {
				exe = os.Args[0]
			}
			o.Command[0] = exe
		}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	return o
}

// heap is how large the heap of a child may grow before its garbage is collected,
// in bytes: all children together stay small, however many there are.
func (o Options) heap() int64 { return min(max(160<<20/int64(o.Jobs), 24<<20), 80<<20) }

// A Pool is the children of a run. Safe for concurrent use. It must be closed.
type Pool struct {
	opts  Options
	slots chan struct{} // one for each child that may work

	known object.WireParts // what the objects of all units have in common

	mu       sync.Mutex
	idle     []*child
	children int // idle and working
	closed   bool
	sides    int

	warming sync.WaitGroup // children that Warm starts
	ending  sync.WaitGroup // children that Rest ends
}

// NewPool makes a pool. Children are started when there is work for them.
func NewPool(o Options) *Pool {
	o = o.withDefaults()
	return &Pool{opts: o, slots: make(chan struct{}, o.Jobs)}
}

// Warm starts n children, or as many as there may be, ahead of the first unit, which takes
// a while, where there is a core for that beside the caller's. It does not wait for them.
func (p *Pool) Warm(n int) {
	if runtime.GOMAXPROCS(0) < 2 {
		return
	}
	for range min(n, p.opts.Jobs) {
		p.mu.Lock()
		p.children++
		p.mu.Unlock()
		p.warming.Go(func() {
			c, err := start(p.opts)
			if err != nil {
				c = &child{dead: true} // whoever needs one tries again, and says why it cannot be
			}
			p.giveBack(c)
		})
	}
}

// A Side is one tree with the settings by which its units are rendered.
type Side struct {
	pool     *Pool
	id       int
	tree     *source.Tree
	settings []byte
}

// Side makes a side of a tree. Settings is what the children's Build is given.
func (p *Pool) Side(t *source.Tree, settings []byte) *Side {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sides++
	return &Side{pool: p, id: p.sides, tree: t, settings: settings}
}

// Render renders a unit in a child. The error says what the renderer said, or why
// its process ended.
func (s *Side) Render(ctx context.Context, u render.Unit) (*render.Output, error) {
	for {
		out, again, err := s.try(ctx, u)
		if again {
			continue
		}
		return out, err
	}
}

// try renders once. Again says that the child was not fresh and may have died of
// what earlier units left in it.
func (s *Side) try(ctx context.Context, u render.Unit) (out *render.Output, again bool, err error) {
	select {
	case s.pool.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	defer func() { <-s.pool.slots }()
	c, err := s.pool.take(s, u)
	if err != nil {
		return nil, false, err
	}
	fresh := c.units == 0
	out, err = c.render(ctx, s, u, s.pool.opts.Timeout)
	s.pool.giveBack(c)
	var died *deathError
	again = errors.As(err, &died) && died.exhausted && !fresh && ctx.Err() == nil
	return out, again, err
}

// take gives an idle child: one that had the unit for the other side if there is
// one, or one that knows the side or has done nothing yet, or starts one.
func (p *Pool) take(s *Side, u render.Unit) (*child, error) {
	p.warming.Wait()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("the children were ended")
	}
	at := slices.IndexFunc(p.idle, func(c *child) bool { return c.last == [2]string{u.Renderer, u.Path} })
	if at < 0 {
		at = slices.IndexFunc(p.idle, func(c *child) bool { return c.knows[s.id] && c.memory <= maxKept })
	}
	if at < 0 {
		at = slices.IndexFunc(p.idle, func(c *child) bool { return len(c.knows) == 0 })
	}
	if at < 0 && p.children == p.opts.Jobs {
		at = 0 // there is one: no more than Jobs are taken at a time
	}
	if at >= 0 {
		c := p.idle[at]
		p.idle = slices.Delete(p.idle, at, at+1)
		if c.memory <= maxKept || c.last == [2]string{u.Renderer, u.Path} {
			p.mu.Unlock()
			return c, nil
		}
		p.children--
		defer c.end()
	}
	p.children++
	p.mu.Unlock()
	c, err := start(p.opts)
	if err != nil {
		p.mu.Lock()
		p.children--
		p.mu.Unlock()
		return nil, fmt.Errorf("starting a process to render in: %w", err)
	}
	return c, nil
}

// maxKept is the memory in bytes above which a child is not kept for further
// units: they would pay for one that was larger than most. It is for the other
// side of that one, which it may know the most of.
const maxKept = 512 << 20

func (p *Pool) giveBack(c *child) {
	p.mu.Lock()
	if c.dead || c.memory > maxKept && c.times > 1 || p.closed {
		p.children--
		p.mu.Unlock()
		c.end()
		return
	}
	p.idle = append(p.idle, c)
	p.mu.Unlock()
}

// Rest gives back the memory that rendering took, which what follows can use: it ends
// the children that have nothing to do and forgets what their objects had in common.
// Others are started when there is work again.
func (p *Pool) Rest() {
	p.endIdle(false)
	p.known.Forget()
}

// Close ends the children. Units that are being rendered fail.
func (p *Pool) Close() {
	p.endIdle(true)
	p.ending.Wait()
}

// endIdle has the children that have nothing to do ended.
func (p *Pool) endIdle(last bool) {
	p.warming.Wait()
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, p.closed || last
	p.children -= len(idle)
	p.mu.Unlock()
	for _, c := range idle {
		p.ending.Go(c.end)
	}
}
