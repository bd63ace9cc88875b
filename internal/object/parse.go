package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unsafe"
)

// MaxFileBytes bounds what Parse looks at. The largest install bundles in public
// repositories have some 4 MB; a dump of 100,000 objects has about 110 MB.
const MaxFileBytes = 256 << 20

// maxDocumentBytes bounds one document that needs the full YAML reader, which
// takes some thirty times the document's size in memory. The API server takes no
// object of more than 3 MB; a List of many objects may be larger.
const maxDocumentBytes = 32 << 20

// Errors that tell apart why a document gave no object, for errors.Is.
var (
	// ErrNotManifest: readable, but without the apiVersion and kind that make a
	// Kubernetes object, such as a values file.
	ErrNotManifest = errors.New("not a Kubernetes object")
	// ErrNoName: apiVersion and kind are there, metadata.name is not, as in the
	// configuration files of many tools.
	ErrNoName = errors.New("no metadata.name")
	// ErrDuplicateKey: a map has one key twice. The object is there all the same,
	// with the last value, which is what kubectl sends.
	ErrDuplicateKey = errors.New("key stands twice in one map")
	// ErrNotText: the file is binary, encrypted or not valid Unicode.
	ErrNotText = errors.New("not text")
)

// A NoNameError is ErrNoName for one document.
type NoNameError struct{ APIVersion, Kind string }

func (e *NoNameError) Error() string {
	return fmt.Sprintf("%s %s has no metadata.name", e.APIVersion, e.Kind)
}

// Is makes it ErrNoName.
func (e *NoNameError) Is(target error) bool { return target == ErrNoName }

// A ParseError says where and why a document, or a part of one, could not be
// read. Its text never quotes a value of the document.
type ParseError struct {
	Path string
	Line int // counted from 1; 0 when the whole file is meant
	Err  error
}

func (e *ParseError) Error() string {
	return Origin{e.Path, e.Line}.String() + ": " + e.Err.Error()
}

// Unwrap gives the cause, without the place.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads the manifests of one file as kubectl does: YAML (1.1, several
// documents, as sigs.k8s.io/yaml reads it) or JSON (also one document after the
// other). Lists are opened, empty documents left out, objects come in the order
// of the file with the line where each begins.
//
// Every error is a *ParseError. A document that cannot be read costs that
// document only, except where JSON or the encoding is broken: then nothing after
// it can be told apart.
//
// Data must not be changed afterwards: texts of the objects are parts of it.
func Parse(unit, path string, data []byte) ([]*Object, []error) {
	return (*Documents)(nil).Parse(unit, path, data)
}

// Parse is the function Parse, with the documents that are known already read once.
func (d *Documents) Parse(unit, path string, data []byte) ([]*Object, []error) {
	r := reader{unit: unit, path: path, known: d}
	if len(data) > MaxFileBytes {
		r.fail(0, fmt.Errorf("file has %d bytes, more than the %d that are read; split it", len(data), MaxFileBytes))
		return nil, r.errs
	}
	text, err := decodeText(data)
	if err != nil {
		r.fail(0, err)
		return nil, r.errs
	}
	r.read(text)
	return r.objects, r.errs
}

// textOf gives bytes that do not change any more as a text, without a copy: files may be large.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// A reader collects what one file holds.
type reader struct {
	unit, path string
	known      *Documents // nil for none
	objects    []*Object
	errs       []error
	unreadable bool   // a document is no YAML
	text       string // of the only document, if it is that
}

func (r *reader) fail(line int, err error) {
	r.errs = append(r.errs, &ParseError{Path: r.path, Line: line, Err: err})
}

// failAt notes an error at its own line, or at the given one when it has none.
func (r *reader) failAt(line int, err error) {
	var at *lineError
	if errors.As(err, &at) {
		line, err = at.line, at.err
	}
	r.fail(line, err)
}

func (r *reader) read(text []byte) {
	if looksLikeJSON(text) {
		docs, err := decodeJSON(text)
		if err == nil {
			if len(docs) == 1 {
				r.text = string(text)
			}
			for _, d := range docs {
				r.add(d)
			}
			return
		}
		// A YAML flow mapping starts like JSON too. When it is neither, the JSON
		// reader knows better what is wrong.
		asYAML := reader{unit: r.unit, path: r.path, known: r.known}
		asYAML.readYAML(textOf(text))
		if !asYAML.unreadable {
			*r = asYAML
			return
		}
		for _, d := range docs {
			r.add(d)
		}
		r.failAt(0, err)
		return
	}
	r.readYAML(textOf(text))
}

// A document is one decoded and normalised document.
type document struct {
	root      any
	line      int   // of its first content
	itemLines []int // of the items of a List, where known
	warnings  []*lineError
}

// A lineError is an error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

func (r *reader) add(d document) {
	if d.root == nil {
		return
	}
	for _, w := range d.warnings {
		r.fail(w.line, w.err)
	}
	m, ok := d.root.(*mapping)
	if !ok {
		r.fail(d.line, fmt.Errorf("%w: a map was expected at the top", ErrNotManifest))
		return
	}
	r.addMap(m, d.line, d.itemLines, 0)
}

// maxListDepth bounds Lists inside Lists; nobody writes more than one.
const maxListDepth = 8

func (r *reader) addMap(m *mapping, line int, itemLines []int, depth int) {
	if items, ok := listItems(m); ok {
		if depth == maxListDepth {
			r.fail(line, fmt.Errorf("more than %d lists inside each other", maxListDepth))
			return
		}
		r.addItems(m, items, line, itemLines, depth)
		return
	}
	if err := manifestError(m.get("apiVersion"), m.get("kind")); err != nil {
		r.fail(line, err)
		return
	}
	if depth == 0 {
		readNulls(m, r.text)
	}
	o, err := newObject(r.unit, Origin{r.path, line}, m)
	if err != nil {
		r.fail(line, err)
		return
	}
	r.objects = append(r.objects, o)
}

func (r *reader) addItems(list *mapping, items []any, line int, itemLines []int, depth int) {
	// Items of a typed list, such as a ConfigMapList, may leave out their own
	// kind: unstructured decoding fills it in from the list's
	// (k8s.io/apimachinery/pkg/apis/meta/v1/unstructured, decodeToList).
	listKind := list.text("kind")
	itemKind := strings.TrimSuffix(listKind, "List")
	for i, item := range items {
		at := line
		if i < len(itemLines) {
			at = itemLines[i]
		}
		m, ok := item.(*mapping)
		if !ok {
			r.fail(at, fmt.Errorf("%w: items[%d] of the %s is no map", ErrNotManifest, i, listKind))
			continue
		}
		if !m.has("kind") && itemKind != "" {
			m.set("kind", itemKind)
			if !m.has("apiVersion") {
				m.set("apiVersion", list.get("apiVersion"))
			}
		}
		r.addMap(m, at, nil, depth+1)
	}
}

// listItems gives the items of a List or of a kind that ends in List. A kind with
// such a name and a metadata.name is an object of its own (a custom resource may
// be called AllowList).
func listItems(m *mapping) ([]any, bool) {
	kind := m.text("kind")
	if !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	if m.text("apiVersion") == "" {
		return nil, false
	}
	if m.below("metadata").get("name") != nil {
		return nil, false
	}
	items, ok := m.get("items").([]any)
	if ok {
		return items, true
	}
	// `items: null`, dropped by now, is an empty list.
	return nil, !m.has("items") && (kind == "List" || !m.has("spec"))
}

// manifestError says what keeps a map with these values from being an object, nil when
// nothing does.
func manifestError(version, kinds any) error {
	apiVersion, _ := version.(string)
	kind, _ := kinds.(string)
	switch {
	case apiVersion == "" && kind == "":
		return fmt.Errorf("%w: it has neither apiVersion nor kind", ErrNotManifest)
	case apiVersion == "":
		return fmt.Errorf("%w: apiVersion is missing or not text", ErrNotManifest)
	case kind == "":
		return fmt.Errorf("%w: kind is missing or not text", ErrNotManifest)
	}
	return nil
}

// decodeText gives data as UTF-8 without byte-order mark and with line feeds alone.
// YAML allows UTF-16 with a byte-order mark (https://yaml.org/spec/1.1/#id868742).
func decodeText(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		data = decodeUTF16(data[2:], binary.BigEndian)
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		data = decodeUTF16(data[2:], binary.LittleEndian)
	}
	if bytes.HasPrefix(data, []byte("\x00GITCRYPT")) {
		return nil, fmt.Errorf("%w: the file is encrypted by git-crypt", ErrNotText)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, fmt.Errorf("%w: it has a zero byte at offset %d", ErrNotText, i)
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		// A line break is a line feed to YAML, however it is written.
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return []byte(string(utf16.Decode(units)))
}

func looksLikeJSON(text []byte) bool {
	trimmed := bytes.TrimLeft(text, " \t\n\r")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
}
