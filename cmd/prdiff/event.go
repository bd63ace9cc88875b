package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prdiff/prdiff/internal/github"
	"github.com/prdiff/prdiff/internal/source"
)

// inActions says whether this is a run of GitHub Actions.
func (e env) inActions() bool { return e.getenv("GITHUB_ACTIONS") == "true" }

// event reads what started the run of GitHub Actions.
func (e env) event() (github.Event, error) {
	name := e.getenv("GITHUB_EVENT_NAME")
	if name == "" {
		return github.Event{}, errors.New("GITHUB_EVENT_NAME is not set: is this a run of GitHub Actions?")
	}
	var data []byte
	if file := e.getenv("GITHUB_EVENT_PATH"); file != "" {
		var err error
		if data, err = readLimited(e.path(file), 32<<20); err != nil {
			return github.Event{}, fmt.Errorf("the event's payload: %w", err)
		}
	}
	return github.ReadEvent(name, e.getenv("GITHUB_REPOSITORY"), e.getenv("GITHUB_ACTOR"), data)
}

// readLimited reads a regular file of at most limit bytes; links are not followed.
func readLimited(name string, limit int64) ([]byte, error) {
	before, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, fmt.Errorf("%s: changed while it was opened", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: longer than %d bytes", name, limit)
	}
	return data, err
}

// An eventSides is what a run of Actions compares.
type eventSides struct {
	base, head string
	names      [2]string // what readers know them by
	note       string    // what readers must know of the choice
}

// sidesOfEvent chooses what to compare in a run of Actions, and fetches the one
// commit that a shallow checkout lacks.
func (e env) sidesOfEvent(ctx context.Context, o source.Options) (eventSides, error) {
	ev, err := e.event()
	if err != nil {
		return eventSides{}, err
	}
	checkout, err := source.Commit(ctx, e.dir, "HEAD", o)
	if err != nil {
		return eventSides{}, err
	}
	parents, err := source.Parents(ctx, e.dir, "HEAD", o)
	if err != nil && len(parents) == 0 {
		return eventSides{}, err
	}
	s, err := github.SidesOf(ev, checkout, parents)
	if err != nil {
		return eventSides{}, err
	}
	out := eventSides{base: s.Base, head: s.Head, names: [2]string{s.BaseName, s.HeadName}, note: s.Note}
	if s.MergeBase {
		out.base += "..."
		return out, nil
	}
	err = source.Fetch(ctx, e.dir, s.Base, o)
	if err != nil && s.Otherwise != "" {
		if otherErr := source.Fetch(ctx, e.dir, s.Otherwise, o); otherErr == nil {
			out.base, out.names[0], out.note = s.Otherwise, "the commit before", s.OtherwiseNote
			return out, nil
		}
	}
	return out, err
}
