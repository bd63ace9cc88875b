package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// A Key stands for everything that a rendering depends on.
type Key [sha256.Size]byte

// KeyOf gives the key of a unit in a tree: of the program that renders it (its
// version), of the settings that the renderer is given, of the unit, and of its
// inputs by name and content, what is missing included. It gives none where that
// is not known, or where an input cannot be read.
func KeyOf(program string, settings []byte, t *source.Tree, u render.Unit, in render.Inputs) (Key, bool) {
	if in.Unknown != "" {
		return Key{}, false
	}
	k := keyer{tree: t, hash: sha256.New()}
	k.texts(program, string(settings), u.Renderer, u.Path, u.Variant)
	for _, name := range in.Files {
		k.file(name)
	}
	k.texts("dirs")
	for _, dir := range in.Dirs {
		k.dir(dir)
	}
	k.texts("missing")
	for _, name := range in.Missing {
		// Usually not there; a name that is a link to nowhere may appear behind it.
		k.file(name)
	}
	if k.err != nil {
		return Key{}, false
	}
	return Key(k.hash.Sum(nil)), true
}

type keyer struct {
	tree *source.Tree
	hash hash.Hash
	err  error
}

func (k *keyer) texts(list ...string) {
	for _, s := range list {
		k.hash.Write(binary.AppendUvarint(nil, uint64(len(s))))
		k.hash.Write([]byte(s))
	}
}

// file adds a name, where it leads to, and the content that is there.
func (k *keyer) file(name string) {
	k.texts(name)
	real, err := k.tree.Resolve(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
		k.texts("missing")
		return
	case err != nil:
		k.err = errors.Join(k.err, err)
		return
	}
	info, err := k.tree.Stat(real)
	if err == nil && info.IsDir() {
		k.texts("folder", real)
		return
	}
	id, err := k.tree.ID(real)
	if err != nil {
		k.err = errors.Join(k.err, err)
		return
	}
	k.texts("file", real, id)
}

// dir adds all files and links below a folder.
func (k *keyer) dir(dir string) {
	k.texts(dir)
	if !k.tree.Exists(dir) {
		k.texts("missing")
		return
	}
	files, err := k.tree.Files(dir)
	if err != nil {
		k.err = errors.Join(k.err, err)
		return
	}
	for _, name := range files {
		k.file(name)
		// What lies behind a link to a folder is found under another name, which
		// nobody has listed.
		if info, err := k.tree.Stat(name); err == nil && info.IsDir() {
			k.err = errors.Join(k.err, errors.New("a link to a folder"))
		}
	}
	k.texts("end")
}
