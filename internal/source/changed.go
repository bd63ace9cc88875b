package source

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
)

// changed compares what two trees list.
func changed(ctx context.Context, base, head *Tree) ([]string, error) {
	before, err := base.store.nodes()
	if err != nil {
		return nil, err
	}
	after, err := head.store.nodes()
	if err != nil {
		return nil, err
	}
	var out []string
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].name < after[0].name:
			out, before = append(out, before[0].name), before[1:]
		case len(before) == 0 || after[0].name < before[0].name:
			out, after = append(out, after[0].name), after[1:]
		default:
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			same, err := sameNode(base, before[0], head, after[0])
			if err != nil {
				return nil, err
			}
			if !same {
				out = append(out, after[0].name)
			}
			before, after = before[1:], after[1:]
		}
	}
	return out, nil
}

func sameNode(base *Tree, b node, head *Tree, h node) (bool, error) {
	if b.mode.Type() != h.mode.Type() || executable(b) != executable(h) {
		return false, nil
	}
	if b.size >= 0 && h.size >= 0 && b.size != h.size {
		return false, nil
	}
	if b.isSubmodule() {
		return b.id == h.id, nil
	}
	if !b.mode.IsRegular() && !b.isLink() {
		return true, nil // a pipe is a pipe: nothing to compare
	}
	if one, ok := base.store.(*fileStore); ok {
		if other, ok := head.store.(*fileStore); ok {
			return bytes.Equal(one.data, other.data), nil // both are at hand
		}
	}
	bid, err := identify(base, b)
	if err != nil {
		return false, err
	}
	hid, err := identify(head, h)
	if err != nil {
		return false, err
	}
	return bid == hid, nil
}

func executable(n node) bool { return n.mode.IsRegular() && n.mode&0o111 != 0 }

func identify(t *Tree, n node) (string, error) {
	if n.id != "" {
		return n.id, nil
	}
	id, err := t.store.identity(n)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // gone since it was listed: the same as no other
	}
	if err != nil {
		return "", &fs.PathError{Op: "identify", Path: n.name, Err: err}
	}
	return id, nil
}
