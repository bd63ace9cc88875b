package plain

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A verdict is what a file looks like before it is parsed.
type verdict int

const (
	foreign   verdict = iota // no manifest, and nothing suggests one
	manifest                 // at least one document is an object, or was meant as one
	leftOut                  // like a manifest, but none for a cluster
	unrelated                // not text
)

// A sight is a verdict and, for what is left out, the reason.
type sight struct {
	verdict verdict
	reason  string
	// near says that a foreign file speaks like an object of the core group, or
	// misspells the keys of one: among manifests it is one with a mistake.
	near bool
}

// look decides by the text of a file, without parsing it, whether it holds
// manifests: a document with apiVersion, kind and metadata at its top, or a List.
// It may be wrong in letting a file pass, not in leaving one out: JSON, UTF-16 and
// flow style pass when they only speak of apiVersion and kind.
func look(name string, data []byte) sight {
	if bytes.HasPrefix(data, []byte("\x00GITCRYPT")) {
		return sight{verdict: leftOut, reason: "not text"}
	}
	if utf16Mark(data) {
		return sight{verdict: manifest}
	}
	if !bytes.Contains(data, []byte("apiVersion")) || !bytes.Contains(data, []byte("kind")) {
		return sight{near: misspells(data)}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return sight{verdict: leftOut, reason: "not text"}
	}
	text := bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
		return lookParsed(name, data)
	}
	found := sight{}
	for h := range heads(text) {
		switch {
		case !h.complete():
			found.near = found.near || h.hasAPI && h.hasKind && h.apiVersion == "v1" && !deniedGroup(h.apiVersion, h.kind)
		case deniedGroup(h.apiVersion, h.kind):
			if found.verdict == foreign {
				found = sight{verdict: leftOut, reason: "not a cluster object"}
			}
		default:
			return lookTemplate(name, data)
		}
	}
	return found
}

var (
	exactVersion, exactKind = regexp.MustCompile(`(?m)^apiVersion[ \t]*:`), regexp.MustCompile(`(?m)^kind[ \t]*:`)
	versionKey, kindKey     = regexp.MustCompile(`(?mi)^api_?version[ \t]*:`), regexp.MustCompile(`(?mi)^kind[ \t]*:`)
)

// misspells says whether a text has the keys apiVersion and kind at its top, but
// in capitals of its own.
func misspells(data []byte) bool {
	if !bytes.Contains(data, []byte("ersion")) || !versionKey.Match(data) || !kindKey.Match(data) {
		return false
	}
	return !exactVersion.Match(data) || !exactKind.Match(data)
}

// lookParsed decides by parsing.
func lookParsed(name string, data []byte) sight {
	objects, errs := object.Parse("", name, data)
	if slices.ContainsFunc(objects, clusterObject) {
		return sight{verdict: manifest}
	}
	if len(objects) > 0 {
		return sight{verdict: leftOut, reason: "not a cluster object"}
	}
	for _, err := range errs {
		if !isForeign(err) && speaksAsObject.Match(data) {
			return sight{verdict: manifest} // Render tells what is wrong
		}
	}
	return sight{}
}

// speaksAsObject finds the JSON keys of an object, for files that do not parse.
var speaksAsObject = regexp.MustCompile(`"apiVersion"\s*:\s*"[a-z0-9./-]*v[0-9]`)

// templateMarks find what only a template engine's source has: control flow or
// values of Go templates, statements of Jinja, placeholders like @NAME@.
var templateMarks = regexp.MustCompile(`\{\{-?\s*(\.|\$|if\b|range\b|end\b|include\b|template\b|with\b|define\b|else\b)|\{%-?\s*\w|: @[A-Z_]+@`)

// lookTemplate leaves out the sources of template engines: marks of one, and not
// a single document that parses to an object. Braces alone mean nothing: alert
// texts and dashboards have them.
func lookTemplate(name string, data []byte) sight {
	if !bytes.Contains(data, []byte("{{")) && !bytes.Contains(data, []byte("{%")) && !bytes.Contains(data, []byte(": @")) || !templateMarks.Match(data) {
		return sight{verdict: manifest}
	}
	objects, errs := object.Parse("", name, data)
	if len(objects) > 0 || len(errs) == 0 || !slices.ContainsFunc(errs, func(err error) bool { return !isForeign(err) }) {
		return sight{verdict: manifest}
	}
	return sight{verdict: leftOut, reason: "another tool's template: looks like a manifest but does not parse"}
}

func utf16Mark(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xFE, 0xFF}) || bytes.HasPrefix(data, []byte{0xFF, 0xFE})
}

// A head is what the top level of a YAML document says.
type head struct {
	apiVersion, kind string
	metadata, items  bool
	hasAPI, hasKind  bool
}

// complete says whether a document is meant as an object or a List of them. One
// without metadata is some tool's configuration.
func (h head) complete() bool {
	return h.hasAPI && h.hasKind && (h.metadata || h.items || builtInGroup(h.apiVersion) || strings.HasSuffix(h.kind, "List") || strings.HasPrefix(h.kind, "{{"))
}

// builtInGroup says whether an API version is one of Kubernetes' own that no other
// tool uses for its files.
func builtInGroup(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && slices.Contains([]string{"apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io"}, group)
}

// heads reads the keys at the start of lines, document by document. A document
// whose top is indented is read as well, by its first key's column.
func heads(text []byte) iter.Seq[head] {
	return func(yield func(head) bool) {
		var h head
		column := -1
		for len(text) > 0 {
			line, rest, _ := bytes.Cut(text, []byte("\n"))
			text = rest
			if bytes.HasPrefix(line, []byte("---")) {
				if !yield(h) {
					return
				}
				h, column = head{}, -1
				if rest := bytes.TrimSpace(line[3:]); len(rest) > 0 && rest[0] == '{' {
					h = head{hasAPI: true, hasKind: true, metadata: true}
				}
				continue
			}
			trimmed := bytes.TrimLeft(line, " ")
			if len(trimmed) == 0 || trimmed[0] == '#' || trimmed[0] == '\r' || trimmed[0] == '%' {
				continue
			}
			if column < 0 {
				column = len(line) - len(trimmed)
			}
			if len(line)-len(trimmed) == column {
				h.read(trimmed)
			}
		}
		yield(h)
	}
}

func (h *head) read(line []byte) {
	key, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return
	}
	switch strings.Trim(string(bytes.TrimSpace(key)), `"'`) {
	case "apiVersion":
		h.hasAPI, h.apiVersion = true, scalar(value)
	case "kind":
		h.hasKind, h.kind = true, scalar(value)
	case "metadata":
		h.metadata = true
	case "items":
		h.items = true
	}
}

func scalar(value []byte) string {
	text, _, _ := strings.Cut(string(value), " #")
	return strings.Trim(strings.TrimSpace(text), `"'`)
}
