package worker

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// A Guard is one thing that a child is kept from, or is not on this machine.
type Guard struct {
	What string // such as "opens no file of this machine"
	Held bool   // tried out by the child itself, where that can be tried
	By   string // what holds it, or why nothing does
}

// Probe starts a child and lets it try out what it is kept from.
func Probe(o Options) ([]Guard, error) {
	c, err := startWith(o.withDefaults(), true)
	if err != nil {
		return nil, fmt.Errorf("starting a process to render in: %w", err)
	}
	c.end()
	return c.guards, nil
}

// held is what shutIn could do.
type held struct {
	filter string // what keeps it from files, network and programs, "" for nothing
	memory string // what bounds memory beside the child's own watch
	cpu    string
	why    string // what could not be done
}

// guards tries out what a child is kept from.
func guards(h held, l limits) []Guard {
	by := func(held bool) string {
		if held && h.filter != "" {
			return h.filter
		}
		if held {
			return "this system"
		}
		return h.why
	}
	_, fileErr := os.ReadDir(string(os.PathSeparator))
	conn, dialErr := net.Dial("udp", "127.0.0.1:9")
	if dialErr == nil {
		_ = conn.Close()
	}
	listener, listenErr := net.Listen("tcp", "127.0.0.1:0")
	if listenErr == nil {
		_ = listener.Close()
	}
	noNetwork := dialErr != nil && listenErr != nil
	noProgram := !startsPrograms()
	memory := "its own watch"
	if h.memory != "" {
		memory += " and " + h.memory
	}
	time := "the clock of the run"
	if h.cpu != "" {
		time += " and " + h.cpu
	}
	limit := "no limit"
	if l.timeout > 0 {
		limit = seconds(l.timeout)
	}
	return []Guard{
		{"sees no environment variable", len(os.Environ()) <= environSize, "started without"},
		{"opens no file of this machine", fileErr != nil, by(fileErr != nil)},
		{"reaches no network", noNetwork, by(noNetwork)},
		{"starts no program", noProgram, by(noProgram)},
		{"takes no more than " + size(l.memory) + " of memory", true, memory},
		{"takes no more time than " + limit + " for one unit", l.timeout > 0, time},
	}
}

// startsPrograms says whether this process can start another one.
func startsPrograms() bool {
	exe, err := os.Executable()
	if err != nil {
		return false
	}
	null := []*os.File{nil, nil, nil}
	p, err := os.StartProcess(exe, []string{"prdiff", "version"}, &os.ProcAttr{Env: []string{}, Files: null})
	if err != nil {
		return false
	}
	_ = p.Kill()
	_, _ = p.Wait()
	return true
}

func appendGuards(b []byte, list []Guard) []byte {
	for _, g := range list {
		b = appendFields(b, g.What, strconv.FormatBool(g.Held), g.By)
	}
	return b
}

func cutGuards(b []byte) ([]Guard, error) {
	var out []Guard
	for len(b) > 0 {
		f, rest, err := cutSomeFields(b, 3)
		if err != nil {
			return nil, err
		}
		b = rest
		out = append(out, Guard{f[0], f[1] == "true", f[2]})
	}
	return out, nil
}
