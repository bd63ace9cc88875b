package incident

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the size in bytes up to which a file of incidents is read. A
// postmortem of a book's length fits many times over.
const MaxFile = 1 << 20

// Parse reads a YAML file of incidents: a list of entries, or one entry alone,
// in one document or several. path is how errors and Incident.File name it.
// Unknown keys, values of the wrong type and whatever Incident.Validate finds
// are errors, each with file and line, all of them joined. The entries that are
// sound are given beside the errors.
func Parse(path string, data []byte) ([]Incident, error) {
	if err := tooLarge(path, data); err != nil {
		return nil, err
	}
	var entries []Incident
	var errs []error
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return entries, errors.Join(append(errs, syntaxError(path, 0, err))...)
		}
		for _, n := range items(&doc) {
			e, err := entry(path, 0, n)
			if err == nil {
				err = e.check()
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			entries = append(entries, e.Incident)
		}
	}
	if len(entries) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no incident in it", path))
	}
	return entries, errors.Join(errs...)
}

// items gives the nodes of a document that should be entries.
func items(doc *yaml.Node) []*yaml.Node {
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.SequenceNode:
		return root.Content
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil // comments only
	}
	return []*yaml.Node{root}
}

// A located entry knows the line of each of its keys.
type located struct {
	Incident
	lines map[string]int
}

func (e located) errorf(field, format string, args ...any) error {
	line := e.Line
	if l, ok := e.lines[field]; ok {
		line = l
	}
	return fmt.Errorf("%s:%d: %s", e.File, line, fmt.Sprintf(format, args...))
}

// check is Validate with the lines of the file.
func (e located) check() error {
	var errs []error
	for _, p := range e.Validate() {
		errs = append(errs, e.errorf(p.Field, "%s", p))
	}
	return errors.Join(errs...)
}

// entry decodes one mapping strictly; offset is added to its lines.
func entry(path string, offset int, n *yaml.Node) (located, error) {
	e := located{lines: map[string]int{}}
	e.File, e.Line = path, n.Line+offset
	if n.Kind != yaml.MappingNode {
		return e, e.errorf("", "an incident must be a mapping with id, date, title, change and lesson")
	}
	var errs []error
	checkKeys(e, "", n, reflect.TypeFor[Incident](), offset, &errs)
	if len(errs) > 0 {
		return e, errors.Join(errs...)
	}
	if err := n.Decode(&e.Incident); err != nil {
		return e, syntaxError(path, offset, err)
	}
	fold(&e.Incident)
	return e, nil
}

// checkKeys compares the keys of a mapping, and the shape of their values, with
// the fields of a struct, and notes the line of each key.
func checkKeys(e located, prefix string, n *yaml.Node, t reflect.Type, offset int, errs *[]error) {
	fields := yamlFields(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		field, known := fields[key.Value]
		if _, twice := e.lines[name]; twice {
			e.lines[name] = key.Line + offset
			*errs = append(*errs, e.errorf(name, "key %q is there twice", name))
			continue
		}
		e.lines[name] = key.Line + offset
		if !known {
			*errs = append(*errs, e.errorf(name, "unknown key %q: known are %s", name, strings.Join(sortedKeys(fields), ", ")))
			continue
		}
		switch field.Kind() {
		case reflect.Slice:
			if !isTextList(value) {
				*errs = append(*errs, e.errorf(name, "%s must be a list of texts", name))
			}
		case reflect.Pointer:
			if value.Kind != yaml.MappingNode {
				*errs = append(*errs, e.errorf(name, "%s must be a mapping", name))
				continue
			}
			checkKeys(e, name+".", value, field.Elem(), offset, errs)
		case reflect.Bool:
			if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" {
				*errs = append(*errs, e.errorf(name, "%s must be true or false", name))
			}
		default:
			if value.Kind != yaml.ScalarNode || value.Tag == "!!binary" {
				*errs = append(*errs, e.errorf(name, "%s must be a text", name))
			}
		}
	}
}

func isTextList(n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode {
		return false
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" || item.Tag == "!!binary" {
			return false
		}
	}
	return true
}

// yamlFields gives the YAML keys of a struct and the type behind each.
func yamlFields(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func sortedKeys(m map[string]reflect.Type) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fold makes one line of each text: where a file breaks its lines says nothing.
func fold(i *Incident) {
	for _, s := range []*string{&i.ID, &i.Org, &i.Date, &i.Title, &i.Change, &i.Mechanism, &i.Impact, &i.Lesson, &i.URL, &i.Related, &i.Note} {
		*s = strings.Join(strings.Fields(*s), " ")
	}
}

// ParseMarkdown reads a postmortem in Markdown: a YAML front matter between
// lines of three hyphens, in the shape of one entry, then prose. The texts that
// the front matter leaves out are taken from the prose: title from the first
// heading; change, mechanism, impact and lesson from the first paragraph below a
// heading such as "What changed", "Why it broke", "Impact", "Lesson". Errors are
// those of Parse.
func ParseMarkdown(path string, data []byte) (Incident, error) {
	if err := tooLarge(path, data); err != nil {
		return Incident{}, err
	}
	front, body, ok := frontMatter(data)
	if !ok {
		return Incident{}, fmt.Errorf("%s:1: no front matter: begin with a line ---, then id, date and the other keys, then a line --- (see the text that `prdiff incidents new` writes)", path)
	}
	const offset = 1 // the line of three hyphens
	var doc yaml.Node
	if err := yaml.Unmarshal(front, &doc); err != nil {
		return Incident{}, syntaxError(path, offset, err)
	}
	nodes := items(&doc)
	if len(nodes) != 1 {
		return Incident{}, fmt.Errorf("%s:1: the front matter must hold one incident, not %d", path, len(nodes))
	}
	e, err := entry(path, offset, nodes[0])
	if err != nil {
		return Incident{}, err
	}
	fromProse(&e.Incident, string(body))
	if err := e.check(); err != nil {
		return Incident{}, err
	}
	return e.Incident, nil
}

// HasFrontMatter says whether a Markdown file begins with a front matter. A
// README beside postmortems does not.
func HasFrontMatter(data []byte) bool {
	_, _, ok := frontMatter(data)
	return ok
}

func frontMatter(data []byte) (front, body []byte, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimRight(first, " \t")) != "---" {
		return nil, nil, false
	}
	for at := 0; at < len(rest); {
		line, _, _ := bytes.Cut(rest[at:], []byte("\n"))
		end := min(at+len(line)+1, len(rest))
		if s := string(bytes.TrimRight(line, " \t")); s == "---" || s == "..." {
			return rest[:at], rest[end:], true
		}
		at = end
	}
	return nil, nil, false
}

// sections are the headings below which ParseMarkdown looks for a text.
var sections = []struct {
	field    func(*Incident) *string
	headings []string
}{
	{func(i *Incident) *string { return &i.Change }, []string{"what changed", "change", "the change", "trigger"}},
	{func(i *Incident) *string { return &i.Mechanism }, []string{"why it broke", "mechanism", "root cause", "cause", "what happened"}},
	{func(i *Incident) *string { return &i.Impact }, []string{"impact", "customer impact", "user impact"}},
	{func(i *Incident) *string { return &i.Lesson }, []string{"lesson", "lessons", "lesson learned", "lessons learned", "what we learned"}},
}

func fromProse(i *Incident, body string) {
	below, fenced := "", false
	paragraphs := map[string][]string{} // the first one below each heading
	done := map[string]bool{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		switch {
		case fenced:
		case strings.HasPrefix(line, "#"):
			level := len(line) - len(strings.TrimLeft(line, "#"))
			heading := strings.TrimSpace(strings.Trim(line, "#"))
			if level == 1 && i.Title == "" {
				i.Title = strings.Join(strings.Fields(heading), " ")
			}
			below = strings.ToLower(strings.TrimRight(heading, ":.? "))
		case line == "":
			done[below] = len(paragraphs[below]) > 0
		case strings.HasPrefix(line, "<!--"): // the template's hints
		case !done[below]:
			paragraphs[below] = append(paragraphs[below], line)
		}
	}
	for _, s := range sections {
		field := s.field(i)
		for _, h := range s.headings {
			if *field == "" {
				*field = strings.Join(strings.Fields(strings.Join(paragraphs[h], " ")), " ")
			}
		}
	}
}

func tooLarge(path string, data []byte) error {
	if len(data) > MaxFile {
		return fmt.Errorf("%s: %d bytes: a file of incidents may have %d: split it", path, len(data), MaxFile)
	}
	return nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntaxError puts the line that the YAML reader found where editors look for it.
func syntaxError(path string, offset int, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		line, _ := strconv.Atoi(text[m[2]:m[3]]) // digits only
		return fmt.Errorf("%s:%d: %s", path, line+offset, text[m[1]:])
	}
	return fmt.Errorf("%s:%d: %s", path, 1+offset, text)
}
