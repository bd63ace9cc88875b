package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A catFile is one long-lived git cat-file --batch, which hands out objects by
// id. It is started when the first is asked for and again when it ended. Safe for concurrent use.
type catFile struct {
	repo  *repo
	start func(offline bool) *exec.Cmd
	done  func() error // why the run was ended, if it was

	mu       sync.Mutex
	proc     *catProcess
	fetchErr error // a fetch did not work: do not wait for another
	closed   bool
	cache    map[string][]byte
	cached   int64 // bytes
}

type catProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *headBuffer
}

// Both trees of a run read mostly the same files, and many units the same libraries.
const (
	maxCached     = 64 << 20 // bytes, of all
	maxCachedBlob = 1 << 20  // bytes, of one
)

// newCatFile makes one that lives no longer than ctx.
func newCatFile(ctx context.Context, r *repo) *catFile {
	return &catFile{
		repo: r,
		start: func(offline bool) *exec.Cmd {
			cmd := r.command(ctx, "cat-file", "--batch")
			if offline {
				cmd.Env = slices.Concat(cmd.Env, noFetch)
			}
			return cmd
		},
		done:  ctx.Err,
		cache: map[string][]byte{},
	}
}

// An objectHeader is the first line of an answer.
type objectHeader struct {
	id, kind string
	size     int64
}

var errMissing = errors.New("missing")

// parseHeader reads a line of git cat-file --batch
// (https://git-scm.com/docs/git-cat-file#_batch_output).
func parseHeader(line string) (objectHeader, error) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(fields) == 2 && fields[1] == "missing" {
		return objectHeader{}, errMissing
	}
	if len(fields) != 3 {
		return objectHeader{}, fmt.Errorf("git cat-file: unexpected answer %.80q", line)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 || !isObjectID(fields[0]) {
		return objectHeader{}, fmt.Errorf("git cat-file: unexpected answer %.80q", line)
	}
	return objectHeader{fields[0], fields[1], size}, nil
}

// isObjectID says whether s is a whole SHA-1 or SHA-256 id.
func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// read gives the content of an object of the given kind ("blob", "commit"). The slice is the caller's.
func (c *catFile) read(id, kind string, limit int64) ([]byte, error) {
	if !isObjectID(id) {
		return nil, fmt.Errorf("%.80q is no object id", id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.cache[id]; ok && kind == "blob" && int64(len(data)) <= limit {
		return append([]byte(nil), data...), nil
	}
	header, err := c.ask(id)
	if err != nil {
		return nil, err
	}
	if header.size > limit {
		// Starting again is cheaper than having it all sent.
		c.stop()
		return nil, &TooLargeError{header.size, limit}
	}
	data := make([]byte, header.size+1) // a line feed follows
	if _, err := io.ReadFull(c.proc.stdout, data); err != nil {
		return nil, c.broken(id, err)
	}
	data = data[:header.size:header.size]
	if header.kind != kind {
		return nil, fmt.Errorf("object %s is a %s, not a %s", id, header.kind, kind)
	}
	if kind == "blob" && header.size <= maxCachedBlob {
		if c.cached += header.size; c.cached > maxCached {
			clear(c.cache)
			c.cached = header.size
		}
		c.cache[id] = append([]byte(nil), data...)
	}
	return data, nil
}

// size gives the size of an object in bytes, without its content where that is large.
func (c *catFile) size(id string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data, ok := c.cache[id]; ok {
		return int64(len(data)), nil
	}
	header, err := c.ask(id)
	if err != nil {
		return 0, err
	}
	if header.size > maxCachedBlob {
		c.stop()
		return header.size, nil
	}
	if _, err := c.proc.stdout.Discard(int(header.size) + 1); err != nil {
		return 0, c.broken(id, err)
	}
	return header.size, nil
}

// ask sends a request and reads the first line of the answer.
func (c *catFile) ask(id string) (objectHeader, error) {
	if c.closed {
		return objectHeader{}, errors.New("the repository is closed already")
	}
	if err := c.done(); err != nil {
		return objectHeader{}, err
	}
	if c.proc == nil {
		if err := c.launch(); err != nil {
			return objectHeader{}, err
		}
	}
	if _, err := io.WriteString(c.proc.stdin, id+"\n"); err != nil {
		return objectHeader{}, c.broken(id, err)
	}
	line, err := c.proc.stdout.ReadString('\n')
	if err != nil {
		return objectHeader{}, c.broken(id, err)
	}
	header, err := parseHeader(line)
	switch {
	case errors.Is(err, errMissing) && c.repo.isPartial() && c.fetchErr == nil:
		return header, c.broken(id, err)
	case errors.Is(err, errMissing):
		return header, c.repo.missingObject(id, c.fetchErr)
	case err == nil && header.id != id:
		err = fmt.Errorf("git cat-file: asked for %s, got %.80q", id, line)
		fallthrough
	case err != nil:
		c.stop()
	}
	return header, err
}

func (c *catFile) launch() error {
	cmd := c.start(c.fetchErr != nil)
	p := &catProcess{cmd: cmd, stderr: &headBuffer{}}
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.stdin = stdin
	p.stdout = bufio.NewReaderSize(stdout, 64<<10)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.proc = p
	return nil
}

// broken ends a process that stopped answering, and says why.
func (c *catFile) broken(id string, err error) error {
	p := c.proc
	c.stop()
	if done := c.done(); done != nil {
		return done
	}
	switch said := p.stderr.String(); {
	case fetchFailed(said) || errors.Is(err, errMissing):
		if c.fetchErr == nil {
			c.fetchErr = c.repo.fetchError(said)
		}
		return c.repo.missingObject(id, c.fetchErr)
	case said != "":
		return &gitError{"cat-file", -1, said}
	}
	return fmt.Errorf("git cat-file: %w", err)
}

// stop ends the process, whatever it is about to send.
func (c *catFile) stop() {
	p := c.proc
	c.proc = nil
	if p == nil {
		return
	}
	// It ends by itself once its input is closed, unless it is sending. How it
	// ends says nothing that is of use.
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (c *catFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	clear(c.cache)
	c.stop()
	return nil
}
