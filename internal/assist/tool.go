package assist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is one function with a schema for what it takes and what it gives, both
// made from the types.
type tool[In, Out any] struct {
	name, title, description string
	do                       func(context.Context, In) (Out, error)
}

// A bounded input says more of its fields than their types do.
type bounded interface{ bounds(*jsonschema.Schema) }

// add adds a tool. Arguments are checked here and not by the SDK, whose messages
// repeat the values that are wrong, however long or secret they are.
func add[In, Out any](s *mcp.Server, t tool[In, Out]) {
	in, out := schemaOf[In](), schemaOf[Out]()
	no := false
	s.AddTool(&mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: in, OutputSchema: out,
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, r *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		defer func() {
			if recover() != nil { // the value may hold anything, and is told to nobody
				res = failed(errors.New("a fault of prdiff itself: please report it, with what you called it with"))
			}
		}()
		var args In
		if err := decode(r.Params.Arguments, &args); err != nil {
			return failed(err), nil
		}
		answer, err := t.do(ctx, args)
		if err != nil {
			return failed(err), nil
		}
		data, err := encode(answer)
		if err != nil {
			return failed(err), nil
		}
		// The text is the same once more, for clients that know no structure
		// (https://modelcontextprotocol.io/specification/2025-06-18/server/tools#structured-content).
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil
	})
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic("assist: " + err.Error()) // a type of ours, and tested
	}
	var v T
	if b, ok := any(v).(bounded); ok {
		b.bounds(s)
	}
	return s
}

// decode reads arguments. Its errors name fields and types, never values.
func decode(data json.RawMessage, to any) error {
	if text := bytes.TrimSpace(data); len(text) == 0 || bytes.Equal(text, []byte("null")) {
		data = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		if kind.Field == "" {
			return fmt.Errorf("the arguments must be an object, not %s", kind.Value)
		}
		return fmt.Errorf("%s must be of type %s, not %s", kind.Field, words(kind.Type.String()), strings.Fields(kind.Value + " ")[0])
	case err != nil:
		return fmt.Errorf("the arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the arguments are followed by something else")
	}
	return nil
}

// words says a type of Go as one of JSON.
func words(t string) string {
	if strings.HasPrefix(strings.TrimPrefix(t, "*"), "int") {
		return "integer"
	}
	return strings.TrimPrefix(t, "*")
}

// encode writes an answer. Characters that drive a terminal or turn the direction
// of writing are written as escapes: to a reader of JSON it is the same text.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !bytes.ContainsFunc(data, drives) {
		return data, nil
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		switch {
		case !drives(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

func drives(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// maxError is how many characters of an error are told.
const maxError = 2000

// failed makes an error of the call: the model sees it and can try something else.
func failed(err error) *mcp.CallToolResult {
	text := strings.Map(func(r rune) rune {
		if r != '\n' && drives(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "\uFFFD"))
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: cut(text, maxError)}}}
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
