package object

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v2"
)

// decodeYAML reads one YAML document that starts at the given line of its file.
func decodeYAML(text string, line int) (document, error) {
	offset, before, ok := firstContent(text)
	if !ok {
		return document{}, nil
	}
	first := line + before
	if d, ok := decodePlainYAML(text, offset, first); ok {
		return d, nil
	}
	if len(text) > maxDocumentBytes {
		return document{}, &lineError{first, fmt.Errorf("document has %d bytes, more than the %d that are read; split it", len(text), maxDocumentBytes)}
	}
	return decodeFullYAML(text, line, first)
}

// decodeFullYAML reads a document with the library that sigs.k8s.io/yaml, and so
// kubectl, uses.
func decodeFullYAML(text string, line, first int) (document, error) {
	d := document{line: first}
	raw, err := unmarshalOne(text, true)
	var typeErr *yaml.TypeError
	if errors.As(err, &typeErr) {
		// In a strict reading a key that overrides a merged one counts as double
		// too, which it is not.
		if !strings.Contains(text, "<<") {
			d.warnings = duplicates(typeErr, line)
		}
		raw, err = unmarshalOne(text, false)
	}
	if err != nil {
		return document{}, yamlError(err, line, first)
	}
	n := normalizer{budget: textBudget + textFactor*len(text)}
	if d.root, err = n.normalize(raw, 0); err != nil {
		return document{}, &lineError{first, err}
	}
	return d, nil
}

var errMoreContent = errors.New("a second document follows without --- before it")

// unmarshalOne reads a text that must be one document: the library's Unmarshal
// passes over what follows the first.
func unmarshalOne(text string, strict bool) (any, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	d.SetStrict(strict)
	var raw, more any
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	switch err := d.Decode(&more); {
	case errors.Is(err, io.EOF):
		return raw, nil
	case err != nil:
		return nil, err
	}
	return nil, errMoreContent
}

// Aliases can make a small file large: the library bounds how many values they
// make, these two bound how much text, in bytes.
const (
	textBudget = 16 << 20
	textFactor = 4
)

var alreadySet = regexp.MustCompile(`^line (\d+): key (.+) already set in map$`)

func duplicates(err *yaml.TypeError, line int) []*lineError {
	var out []*lineError
	for _, text := range err.Errors {
		m := alreadySet.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits only, see alreadySet
		key := m[2]
		if s, err := strconv.Unquote(key); err == nil {
			key = s
		}
		out = append(out, duplicateKey(line+n-1, key))
	}
	return out
}

func duplicateKey(line int, key string) *lineError {
	return &lineError{line, fmt.Errorf("%w: %s; the last one counts", ErrDuplicateKey, strconv.Quote(MaskText(key)))}
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlError gives an error of the YAML library its line in the file, and takes
// out the pieces of content that some of them quote.
func yamlError(err error, line, first int) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := first
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits only, see yamlLine
		at, text = line+n-1, text[len(m[0]):]
	}
	switch {
	case strings.HasPrefix(text, "invalid map key"):
		text = "a map or list stands as the key of a map, which JSON does not have"
	case strings.HasPrefix(text, "cannot decode"):
		text = "a value does not fit its explicit tag"
	case strings.Contains(text, "cannot unmarshal"):
		text = "a value does not fit its place"
	case strings.HasPrefix(text, "exceeded max depth"):
		text = fmt.Sprintf("nested more than %d levels deep", maxDepth)
	case strings.HasPrefix(text, "document contains excessive aliasing"):
		text = "aliases expand to too many values"
	}
	return &lineError{at, errors.New("not valid YAML: " + MaskText(text))}
}

// keyText spells a map key as sigs.k8s.io/yaml does when it turns YAML into
// JSON: `true:` and `80:` are the texts "true" and "80".
func keyText(k any) (string, error) {
	switch x := k.(type) {
	case string:
		return x, nil
	case bool:
		return strconv.FormatBool(x), nil
	case int:
		return strconv.Itoa(x), nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case float64:
		// 32 bits, as there.
		switch s := strconv.FormatFloat(x, 'g', -1, 32); s {
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return s, nil
		}
	}
	return "", fmt.Errorf("a map key is neither text nor number nor boolean")
}

// wholeNumber gives the int64 that f stands for, so that 1e+06 and 1000000 are
// one number.
func wholeNumber(f float64) (int64, bool) {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), true
	}
	return 0, false
}
