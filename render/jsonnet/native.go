package jsonnet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"go.yaml.in/yaml/v3"
)

// nativeCalls are the native functions of one evaluator: those of Tanka
// (https://tanka.dev/jsonnet/native).
type nativeCalls struct {
	side *Side
	ctx  context.Context // of the evaluation that runs
}

// maxIndent is the widest indent that manifestJsonFromJson makes.
const maxIndent = 1000

func (n *nativeCalls) functions() []*gojsonnet.NativeFunction {
	return []*gojsonnet.NativeFunction{
		text("parseJson", []string{"json"}, func(a []string) (any, error) { return parseJSON(a[0]) }),
		text("parseYaml", []string{"yaml"}, func(a []string) (any, error) { return parseYAML(a[0]) }),
		text("manifestYamlFromJson", []string{"json"}, func(a []string) (any, error) { return manifestYAML(a[0]) }),
		text("escapeStringRegex", []string{"str"}, func(a []string) (any, error) { return regexp.QuoteMeta(a[0]), nil }),
		text("regexMatch", []string{"regex", "string"}, func(a []string) (any, error) {
			return regexp.MatchString(a[0], a[1])
		}),
		text("regexSubst", []string{"regex", "src", "repl"}, func(a []string) (any, error) {
			re, err := regexp.Compile(a[0])
			if err != nil {
				return nil, err
			}
			return re.ReplaceAllString(a[1], a[2]), nil
		}),
		text("sha256", []string{"str"}, func(a []string) (any, error) {
			sum := sha256.Sum256([]byte(a[0]))
			return hex.EncodeToString(sum[:]), nil
		}),
		native("manifestJsonFromJson", []string{"json", "indent"}, func(args []any) (any, error) {
			source, err := textArg("manifestJsonFromJson", "json", args[0])
			if err != nil {
				return nil, err
			}
			indent, ok := args[1].(float64)
			if !ok || !(indent >= 0 && indent <= maxIndent) {
				return nil, fmt.Errorf("manifestJsonFromJson: argument 'indent' must be a number from 0 to %d", maxIndent)
			}
			return manifestJSON(source, int(indent))
		}),
		native("helmTemplate", []string{"name", "chart", "opts"}, n.helmTemplate),
		native("kustomizeBuild", []string{"path", "opts"}, n.kustomizeBuild),
	}
}

func native(name string, params []string, call func([]any) (any, error)) *gojsonnet.NativeFunction {
	f := &gojsonnet.NativeFunction{Name: name, Func: call}
	for _, p := range params {
		f.Params = append(f.Params, ast.Identifier(p))
	}
	return f
}

// text makes a native function all of whose arguments are texts.
func text(name string, params []string, call func([]string) (any, error)) *gojsonnet.NativeFunction {
	return native(name, params, func(args []any) (any, error) {
		texts := make([]string, len(args))
		for i, arg := range args {
			var err error
			if texts[i], err = textArg(name, params[i], arg); err != nil {
				return nil, err
			}
		}
		return call(texts)
	})
}

func textArg(function, param string, arg any) (string, error) {
	s, ok := arg.(string)
	if !ok {
		return "", fmt.Errorf("%s: argument '%s' must be a string, got %s", function, param, typeName(arg))
	}
	return s, nil
}

// typeName names a type as jsonnet's std.type does.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}

func parseJSON(s string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return v, nil
}

// parseYAML gives one item for each document. Values take the way over JSON,
// which turns times into text and refuses keys that are not text.
func parseYAML(s string) ([]any, error) {
	docs := []any{}
	decoder := yaml.NewDecoder(strings.NewReader(s))
	for {
		var doc any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parsing yaml: %w", err)
		}
		b, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("converting yaml to json: %w", err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			return nil, fmt.Errorf("converting yaml to json: %w", err)
		}
		docs = append(docs, v)
	}
}

// manifestJSON indents JSON text anew; order, spelling of numbers and escapes stay.
func manifestJSON(s string, indent int) (any, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace([]byte(s)), "", strings.Repeat(" ", indent)); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.String(), nil
}

func manifestYAML(s string) (any, error) {
	v, err := parseJSON(s)
	if err != nil {
		return nil, err
	}
	b, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	return string(b), nil
}
