package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

// The questions that a remote tree asks. Each is followed by a name.
const (
	askDir      = 'd'
	askFile     = 'r'
	askLink     = 'l'
	askSize     = 's'
	askIdentity = 'i'
	askFiles    = 'f'
	askMissing  = 'm' // why a name is not there
	askModules  = 'u'
)

// NewRemote makes a tree that reads nothing by itself: whatever it needs it asks
// for, and Answer of the tree it stands for gives the answers. It reads the same
// as that tree, errors included, except that only fs.ErrNotExist, *LinkError
// and *LFSError can be told apart by type. Folders are asked for once.
//
// Ask is called by one caller at a time. Noun is what the tree is a state of.
func NewRemote(rev, noun string, ask func(question []byte) (answer []byte, err error)) *Tree {
	return &Tree{Rev: rev, Prefix: ".", store: &remoteStore{ask: ask, dirs: map[string]*remoteDir{}}, limit: DefaultMaxFileSize, noun: noun}
}

// Noun says what the tree is a state of: "repository" or "folder".
func (t *Tree) Noun() string { return t.noun }

// Answer answers a question of a tree that NewRemote made. Questions may come
// from a process that is not trusted: names that are not clean, or lead through
// links, are refused. Limit bounds the answer in bytes; what would be longer is
// answered with an error.
//
// An answer is in two parts, one behind the other. The second is the content of a file,
// which may be the tree's own and must not be changed.
func (t *Tree) Answer(question []byte, limit int) (answer, content []byte) {
	answer, content, err := t.answer(question)
	if err == nil && len(answer)+len(content) > limit {
		err = fmt.Errorf("%s: more than the %d bytes that can be handed over at once", question[1:], limit)
	}
	if err != nil {
		return answerError(err), nil
	}
	return answer, content
}

func (t *Tree) answer(question []byte) (answer, content []byte, err error) {
	if len(question) > 0 && question[0] == askFile {
		content, err = t.content(string(question[1:]))
		return []byte{0}, content, err
	}
	answer, err = t.fact(question)
	return answer, nil, err
}

// content gives a file, the name of which may come from a process that is not trusted.
func (t *Tree) content(name string) ([]byte, error) {
	n, err := t.resolve(name, false)
	if err != nil {
		return nil, err
	}
	if n.name != name {
		return nil, fmt.Errorf("%s: is %s", name, n.name)
	}
	return t.readNode(n)
}

// fact answers what is no content of a file.
func (t *Tree) fact(question []byte) ([]byte, error) {
	if len(question) == 0 {
		return nil, errors.New("an empty question")
	}
	name := string(question[1:])
	out := []byte{0}
	switch question[0] {
	case askMissing:
		if !validName(name) {
			return nil, fs.ErrInvalid
		}
		return nil, t.store.explain(name, fs.ErrNotExist)
	case askModules:
		return appendTexts(out, t.store.submodules()), nil
	}
	n, err := t.resolve(name, false)
	if err != nil {
		return nil, err
	}
	if n.name != name {
		return nil, fmt.Errorf("%s: is %s", name, n.name)
	}
	switch question[0] {
	case askDir:
		if !n.mode.IsDir() {
			return nil, errNotDir
		}
		nodes, err := t.store.readDir(name)
		if err != nil {
			return nil, err
		}
		for _, c := range nodes {
			out = appendText(out, path.Base(c.name))
			out = binary.AppendUvarint(out, uint64(c.mode))
			out = binary.AppendVarint(out, c.size)
		}
		return out, nil
	case askLink:
		if !n.isLink() {
			return nil, fs.ErrInvalid
		}
		target, err := t.store.readLink(n)
		return append(out, target...), err
	case askSize:
		size, err := t.sizeOf(n)
		return binary.AppendVarint(out, size), err
	case askIdentity:
		if n.id != "" {
			return append(out, n.id...), nil
		}
		if !n.mode.IsRegular() && !n.isLink() {
			return nil, fs.ErrInvalid
		}
		id, err := t.store.identity(n)
		return append(out, id...), err
	case askFiles:
		names, err := t.store.files(name)
		return appendTexts(out, names), err
	}
	return nil, fmt.Errorf("no question begins with %q", question[0])
}

// answerError is an answer that is an error: 1, or 2 for fs.ErrNotExist, and the
// text; or 3 and what an LFSError holds.
func answerError(err error) []byte {
	var pointer *LFSError
	switch {
	case errors.As(err, &pointer):
		return appendText(appendText(binary.AppendVarint([]byte{3}, pointer.Size), pointer.OID), pointer.Commit)
	case errors.Is(err, fs.ErrNotExist):
		return append([]byte{2}, err.Error()...)
	}
	return append([]byte{1}, err.Error()...)
}

// cutError reads what answerError wrote.
func cutError(answer []byte) error {
	if answer[0] != 3 {
		return &remoteError{string(answer[1:]), answer[0] == 2}
	}
	size, rest, ok := cutVarint(answer[1:])
	texts, err := cutTexts(rest)
	if !ok || err != nil || len(texts) != 2 {
		return errAnswer
	}
	return &LFSError{OID: texts[0], Size: size, Commit: texts[1]}
}

// A remoteError is an error of another process.
type remoteError struct {
	text    string
	missing bool
}

func (e *remoteError) Error() string        { return e.text }
func (e *remoteError) Is(target error) bool { return e.missing && target == fs.ErrNotExist }

var errAnswer = errors.New("an answer about files was cut off")

type remoteStore struct {
	ask func([]byte) ([]byte, error)

	mu   sync.Mutex
	dirs map[string]*remoteDir
}

// A remoteDir is a folder that was asked for.
type remoteDir struct {
	nodes listing
	err   error
}

// question asks; s.mu is held.
func (s *remoteStore) question(op byte, name string) ([]byte, error) {
	answer, err := s.ask(append([]byte{op}, name...))
	switch {
	case err != nil:
		return nil, err
	case len(answer) == 0:
		return nil, errAnswer
	case answer[0] != 0:
		return nil, cutError(answer)
	}
	return answer[1:], nil
}

func (s *remoteStore) lockedQuestion(op byte, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.question(op, name)
}

// lstat looks into the folder of the name, which is asked for once, as are those above.
func (s *remoteStore) lstat(name string) (node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(name)
}

func (s *remoteStore) find(name string) (node, error) {
	if name == "." {
		return dirNode("."), nil
	}
	parent, err := s.find(path.Dir(name))
	if err != nil {
		return node{}, err
	}
	if !parent.mode.IsDir() {
		return node{}, fs.ErrNotExist
	}
	d := s.dir(parent.name)
	if d.err != nil {
		return node{}, d.err
	}
	if i := d.nodes.from(name); i < len(d.nodes) && d.nodes[i].name == name {
		return d.nodes[i], nil
	}
	return node{}, fs.ErrNotExist
}

func (s *remoteStore) dir(name string) *remoteDir {
	if d := s.dirs[name]; d != nil {
		return d
	}
	d := &remoteDir{}
	d.nodes, d.err = s.readNodes(name)
	s.dirs[name] = d
	return d
}

func (s *remoteStore) readNodes(dir string) (listing, error) {
	data, err := s.question(askDir, dir)
	if err != nil {
		return nil, err
	}
	var nodes []node
	for len(data) > 0 {
		var n node
		var base string
		var mode uint64
		var ok [3]bool
		base, data, ok[0] = cutText(data)
		mode, data, ok[1] = cutUvarint(data)
		n.size, data, ok[2] = cutVarint(data)
		if ok != [3]bool{true, true, true} {
			return nil, errAnswer
		}
		n.name, n.mode = path.Join(dir, base), fs.FileMode(mode)
		nodes = append(nodes, n)
	}
	return newListing(nodes), nil
}

func (s *remoteStore) readDir(name string) ([]node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dir(name)
	return d.nodes, d.err
}

func (s *remoteStore) read(n node, limit int64) ([]byte, error) {
	if n.size > limit {
		return nil, &TooLargeError{Size: n.size, Limit: limit}
	}
	return s.lockedQuestion(askFile, n.name)
}

func (s *remoteStore) readLink(n node) (string, error) {
	target, err := s.lockedQuestion(askLink, n.name)
	return string(target), err
}

func (s *remoteStore) files(dir string) ([]string, error) {
	data, err := s.lockedQuestion(askFiles, dir)
	if err != nil {
		return nil, err
	}
	return cutTexts(data)
}

func (s *remoteStore) nodes() ([]node, error) { return walk(s.readDir, ".") }

func (s *remoteStore) identity(n node) (string, error) {
	id, err := s.lockedQuestion(askIdentity, n.name)
	return string(id), err
}

func (s *remoteStore) size(n node) (int64, error) {
	data, err := s.lockedQuestion(askSize, n.name)
	if err != nil {
		return 0, err
	}
	size, _, ok := cutVarint(data)
	if !ok {
		return 0, errAnswer
	}
	return size, nil
}

func (s *remoteStore) exact() bool { return true }

func (s *remoteStore) submodules() []string {
	data, err := s.lockedQuestion(askModules, ".")
	if err != nil {
		return nil
	}
	names, err := cutTexts(data)
	if err != nil {
		return nil
	}
	return names
}

// explain gives an error that asks for its reason when somebody reads it: most
// names that are looked for in vain are looked for in the next place.
func (s *remoteStore) explain(name string, err error) error {
	if err != fs.ErrNotExist {
		return err
	}
	return &missingError{s, name}
}

type missingError struct {
	store *remoteStore
	name  string
}

func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

func (e *missingError) Error() string {
	_, err := e.store.lockedQuestion(askMissing, e.name)
	var told *remoteError
	if errors.As(err, &told) {
		return told.text
	}
	return fs.ErrNotExist.Error()
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTexts(b []byte, list []string) []byte {
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

func cutUvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func cutVarint(b []byte) (int64, []byte, bool) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

func cutText(b []byte) (string, []byte, bool) {
	n, b, ok := cutUvarint(b)
	if !ok || n > uint64(len(b)) {
		return "", nil, false
	}
	return string(b[:n]), b[n:], true
}

func cutTexts(b []byte) ([]string, error) {
	var out []string
	for len(b) > 0 {
		s, rest, ok := cutText(b)
		if !ok {
			return nil, errAnswer
		}
		out, b = append(out, s), rest
	}
	return out, nil
}
