package github

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// operations are the requests that we may make, as GitHub's own OpenAPI description
// has them: testdata/requests.json holds its request bodies and query parameters.
var operations = sync.OnceValues(func() ([]operation, error) {
	data, err := os.ReadFile("testdata/requests.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("requests.json", doc); err != nil {
		return nil, err
	}
	var out []operation
	for name, value := range doc.(map[string]any)["operations"].(map[string]any) {
		method, path, _ := strings.Cut(name, " ")
		o := operation{method: method, query: value.(map[string]any)["query"].(map[string]any)}
		o.path = regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
		if body, ok := value.(map[string]any)["body"].(map[string]any); ok {
			pointer := "requests.json#/operations/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", " ", "%20").Replace(name) + "/body"
			if o.body, err = compiler.Compile(pointer); err != nil {
				return nil, err
			}
			o.properties = body["properties"].(map[string]any)
		}
		out = append(out, o)
	}
	return out, nil
})

type operation struct {
	method     string
	path       *regexp.Regexp
	query      map[string]any
	body       *jsonschema.Schema
	properties map[string]any
}

// checkRequest holds a request against GitHub's description.
func checkRequest(t *testing.T, r *http.Request, body []byte) {
	t.Helper()
	if r.URL.Path == "/graphql" {
		return // has no part in the description of REST
	}
	all, err := operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		// GitHub sends a renamed repository's requests on to its new name.
		if o.method != r.Method || !o.path.MatchString(r.URL.Path) {
			continue
		}
		for name := range r.URL.Query() {
			if o.query[name] == nil {
				t.Errorf("%s %s has no parameter %s", r.Method, r.URL.Path, name)
			}
		}
		if o.body == nil {
			if len(body) > 0 {
				t.Errorf("%s %s takes no body", r.Method, r.URL.Path)
			}
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = o.body.Validate(value)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			return
		}
		for name := range value.(map[string]any) {
			if o.properties[name] == nil {
				t.Errorf("%s %s: the body has no field %s", r.Method, r.URL.Path, name)
			}
		}
		return
	}
	t.Errorf("GitHub's description has no %s %s", r.Method, r.URL.Path)
}

func TestCheckRequestFindsWhatGitHubWouldRefuse(t *testing.T) {
	annotations := make([]map[string]any, 51)
	for i := range annotations {
		annotations[i] = map[string]any{"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
	}
	all, err := operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.method != "POST" || !o.path.MatchString("/repos/o/r/check-runs") {
			continue
		}
		data, err := json.Marshal(map[string]any{"name": "n", "head_sha": "x", "output": map[string]any{"title": "t", "summary": "s", "annotations": annotations}})
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if o.body.Validate(value) == nil {
			t.Error("51 annotations in one request are valid")
		}
		return
	}
	t.Error("check runs are not described")
}
