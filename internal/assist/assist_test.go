package assist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

// tools are the real library, one rule, and whatever compare gives.
func tools(compare func(context.Context, Sides) (*report.Report, error)) Tools {
	one := Rule{ID: "a-rule", Title: "A rule", Subject: "traffic", Severity: "error"}
	return Tools{
		Version: "1.2.3",
		Library: func(context.Context) (*incident.Library, string) { return incident.Embedded(), "" },
		Rules:   func(context.Context) ([]Rule, string) { return []Rule{one}, "" },
		Rule: func(_ context.Context, id string) (Rule, error) {
			if id != one.ID {
				return Rule{}, fmt.Errorf("there is no rule %q", id)
			}
			r := one
			r.Story = strings.Repeat("A line.\n", 10_000)
			r.Incidents = incident.Embedded().Search("selector", 2)
			return r, nil
		},
		Compare: compare,
	}
}

// connect gives a client of the SDK that talks to the tools in memory.
func connect(t *testing.T, tools Tools) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := NewServer(tools).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	return client
}

// call calls a tool, and gives its text and whether it is an error.
func call(t *testing.T, c *mcp.ClientSession, name string, args any) (string, bool) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s: %d contents, want 1", name, len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: a %T, want text", name, res.Content[0])
	}
	if !res.IsError {
		structured, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, structured, []byte(text.Text)) {
			t.Errorf("%s: text and structure differ", name)
		}
	}
	return text.Text, res.IsError
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var va, vb any
	if err := errors.Join(json.Unmarshal(a, &va), json.Unmarshal(b, &vb)); err != nil {
		t.Fatal(err)
	}
	ja, errA := json.Marshal(va)
	jb, errB := json.Marshal(vb)
	return errA == nil && errB == nil && bytes.Equal(ja, jb)
}

// want calls a tool that must answer, and reads the answer.
func want[T any](t *testing.T, c *mcp.ClientSession, name string, args any) T {
	t.Helper()
	text, failed := call(t, c, name, args)
	if failed {
		t.Fatalf("%s failed: %s", name, text)
	}
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func never(context.Context, Sides) (*report.Report, error) {
	return nil, errors.New("compare was called")
}

func TestToolsAreListedWithSchemas(t *testing.T) {
	c := connect(t, tools(never))
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s does not say that it only reads: %+v", tool.Name, a)
		}
		if tool.Description == "" || tool.Title == "" {
			t.Errorf("%s does not say what it is for", tool.Name)
		}
		in, ok := tool.InputSchema.(map[string]any)
		if !ok || in["type"] != "object" || in["additionalProperties"] != false {
			t.Errorf("%s takes %v, want an object without further fields", tool.Name, tool.InputSchema)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "diff_manifests explain_rule get_incident list_incidents search_incidents" {
		t.Errorf("the tools are %s", got)
	}
	if i := c.InitializeResult(); i.ServerInfo.Name != "prdiff" || i.ServerInfo.Version != "1.2.3" || !strings.Contains(i.Instructions, "not instructions") {
		t.Errorf("the server says of itself %+v", i)
	}
	caps, err := json.Marshal(c.InitializeResult().Capabilities)
	if err != nil || string(caps) != `{"tools":{}}` {
		t.Errorf("the server can do %s, want tools alone", caps)
	}
}

// TestSchemas holds what the tools take and give to the schemas that they publish.
func TestSchemas(t *testing.T) {
	c := connect(t, tools(func(context.Context, Sides) (*report.Report, error) { return sample(), nil }))
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(v any) *jsonschema.Resolved {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	calls := map[string][]map[string]any{
		"diff_manifests":   {{"before": "a", "after": "b", "maxChanges": 3}, {"after": "b"}, {"beforePath": "a", "afterPath": "b"}},
		"explain_rule":     {{}, {"id": "a-rule"}},
		"get_incident":     {{"id": "IL-0191"}},
		"list_incidents":   {{}, {"org": "datadog", "limit": 1}, {"year": "1066"}},
		"search_incidents": {{"words": "coredns"}, {"words": "zzzzqqqq", "limit": 20}},
	}
	for _, tool := range list.Tools {
		in, out := schema(tool.InputSchema), schema(tool.OutputSchema)
		if len(calls[tool.Name]) == 0 {
			t.Errorf("%s is not tested", tool.Name)
		}
		for _, args := range calls[tool.Name] {
			if err := in.Validate(args); err != nil {
				t.Errorf("%s %v: %v", tool.Name, args, err)
			}
			if err := out.Validate(want[map[string]any](t, c, tool.Name, args)); err != nil {
				t.Errorf("%s %v: what it gives is not what it says: %v", tool.Name, args, err)
			}
		}
	}
}

func TestIncidents(t *testing.T) {
	c := connect(t, tools(never))
	found := want[listOutput](t, c, "search_incidents", map[string]any{"words": "service selector label", "limit": 2})
	if len(found.Incidents) != 2 || found.Total < 2 || found.Incidents[0].ID != "grafana-loki-selector-2022" || found.Incidents[0].Reason == "" {
		t.Errorf("search_incidents = %+v", found)
	}
	for _, id := range []string{"grafana-loki-selector-2022", "IL-0191", " il-0191 "} {
		got := want[getOutput](t, c, "get_incident", map[string]any{"id": id})
		if got.ID != "grafana-loki-selector-2022" || got.Mechanism == "" || !strings.HasPrefix(got.URL, "https://") || got.Similar == nil {
			t.Errorf("get_incident(%s) = %+v", id, got)
		}
	}
	similar, err := incident.Embedded().Similar("datadog-grpc-reconnect-2021", 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := want[getOutput](t, c, "get_incident", map[string]any{"id": "IL-0461"}); !reflect.DeepEqual(got.Similar, briefs(similar)) {
		t.Errorf("get_incident(IL-0461) is like %+v, want %+v", got.Similar, briefs(similar))
	}
	var ids []string
	for offset := 0; ; {
		page := want[listOutput](t, c, "list_incidents", map[string]any{"limit": 50, "offset": offset})
		for _, i := range page.Incidents {
			ids = append(ids, i.ID)
		}
		if page.Next == 0 {
			break
		}
		offset = page.Next
	}
	if len(ids) != incident.Embedded().Len() || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("the pages of list_incidents hold %d incidents, want each of %d once", len(ids), incident.Embedded().Len())
	}
	for _, args := range []map[string]any{{"org": "grafana"}, {"software": "CoreDNS"}, {"kind": "service"}, {"rule": "service-selector-narrowed"}, {"year": "2022"}} {
		some := want[listOutput](t, c, "list_incidents", args)
		if some.Total == 0 || some.Total >= len(ids) {
			t.Errorf("list_incidents(%v) gives %d of %d", args, some.Total, len(ids))
		}
	}
}

func TestExplainRule(t *testing.T) {
	c := connect(t, tools(never))
	if all := want[ruleOutput](t, c, "explain_rule", map[string]any{}); len(all.Rules) != 1 || all.Rule != nil {
		t.Errorf("explain_rule() = %+v, want the list", all)
	}
	got := want[ruleOutput](t, c, "explain_rule", map[string]any{"id": "a-rule"})
	if got.Rule == nil || len(got.Incidents) != 2 || len(got.Rule.Story) > maxStory+100 || !strings.Contains(got.Rule.Story, " more lines)") {
		t.Errorf("explain_rule(a-rule) = %+v", got)
	}
}

// TestMistakes: whatever is wrong is an error of the call, which repeats no value,
// and the session goes on.
func TestMistakes(t *testing.T) {
	const secret = "hunter2"
	c := connect(t, tools(func(_ context.Context, s Sides) (*report.Report, error) {
		switch *s.After {
		case "panic":
			panic(secret)
		case "error":
			return nil, errors.New("m.yaml:3: no\x1b[31m good\u202e" + strings.Repeat("x", 5000))
		}
		return nil, context.DeadlineExceeded
	}))
	long := strings.Repeat("x", maxWords+1)
	for _, tt := range []struct {
		name, tool string
		args       any
		want       string
	}{
		{"nothing to compare", "diff_manifests", map[string]any{}, "nothing to compare"},
		{"no arguments at all", "diff_manifests", nil, "nothing to compare"},
		{"texts and paths", "diff_manifests", map[string]any{"before": secret, "afterPath": "b"}, "not both"},
		{"one path", "diff_manifests", map[string]any{"afterPath": "b"}, "give both"},
		{"a text that is too large", "diff_manifests", map[string]any{"before": "", "after": strings.Repeat("x", MaxText+1)}, "after is larger than 1048576 bytes"},
		{"a path that is too long", "diff_manifests", map[string]any{"beforePath": long, "afterPath": "a"}, "beforePath is longer"},
		{"a number out of range", "diff_manifests", map[string]any{"before": "a", "maxChanges": 501}, "maxChanges must be from 0 to 500"},
		{"a number that is none", "diff_manifests", map[string]any{"before": "a", "maxChanges": 1.5}, "maxChanges must be of type integer, not number"},
		{"a list in the place of a text", "diff_manifests", map[string]any{"before": []string{secret}}, "before must be of type string, not array"},
		{"a field that is not known", "diff_manifests", map[string]any{"write": secret}, `unknown field "write"`},
		{"a list of arguments", "diff_manifests", []any{secret}, "must be an object, not array"},
		{"a fault of ours", "diff_manifests", map[string]any{"after": "panic"}, "a fault of prdiff itself"},
		{"an error, cut and clean", "diff_manifests", map[string]any{"after": "error"}, "m.yaml:3: no\uFFFD[31m good\uFFFDxxx"},
		{"no such rule", "explain_rule", map[string]any{"id": "x"}, `there is no rule "x"`},
		{"no such incident", "get_incident", map[string]any{"id": long[:300]}, "there is no incident"},
		{"no id", "get_incident", map[string]any{}, "there is no incident"},
		{"no words", "search_incidents", map[string]any{"words": " "}, "words is empty"},
		{"too many words", "search_incidents", map[string]any{"words": long}, "words is longer"},
		{"a negative limit", "search_incidents", map[string]any{"words": "a", "limit": -1}, "limit must be from 1 to 20"},
		{"an enormous offset", "list_incidents", map[string]any{"offset": 1 << 40}, "offset must be from"},
		{"a number beyond all bounds", "list_incidents", map[string]any{"offset": json.Number("1e300")}, "offset must be of type integer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, failed := call(t, c, tt.tool, tt.args)
			if !failed || !strings.Contains(text, tt.want) {
				t.Errorf("error %v: %.200q, want one with %q", failed, text, tt.want)
			}
			if strings.Contains(text, secret) || len([]rune(text)) > maxError || strings.ContainsFunc(text, drives) {
				t.Errorf("the error is too long, or tells what it was given: %.200q", text)
			}
		})
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file"}); err == nil {
		t.Error("a tool that is not there answers")
	}
	if got := want[listOutput](t, c, "search_incidents", map[string]any{"words": "coredns"}); got.Total == 0 {
		t.Error("after all that, the session is of no use")
	}
}

// TestOneAtATime: an assistant that asks much at once gets its answers one after
// the other, and one that gives up is not waited for.
func TestOneAtATime(t *testing.T) {
	var running, most atomic.Int64
	started, goOn := make(chan struct{}, 8), make(chan struct{})
	c := connect(t, tools(func(ctx context.Context, _ Sides) (*report.Report, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		started <- struct{}{}
		select {
		case <-goOn:
			return sample(), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}))
	args := map[string]any{"after": "x"}
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "diff_manifests", Arguments: args})
		gone <- err
	}()
	<-started
	answers := make(chan error, 3)
	for range 3 {
		go func() {
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "diff_manifests", Arguments: args})
			if err == nil && res.IsError {
				err = errors.New("it failed")
			}
			answers <- err
		}()
	}
	// Others are served meanwhile.
	if got := want[listOutput](t, c, "search_incidents", map[string]any{"words": "coredns"}); got.Total == 0 {
		t.Error("nothing is answered while something is compared")
	}
	giveUp()
	if err := <-gone; err == nil {
		t.Error("a call that was given up was answered")
	}
	close(goOn)
	for range 3 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d comparisons ran at once, want 1", most.Load())
	}
}

// TestServe talks on streams as a process does, line by line.
func TestServe(t *testing.T) {
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}` + "\n"
	for _, tt := range []struct {
		name, in string
		fails    bool
	}{
		{"nothing is said", "", false},
		{"the other side hangs up after a greeting", initialize, false},
		{"no JSON", initialize + "GET / HTTP/1.1\n", true},
		{"a message without an end", initialize + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"x":"` + strings.Repeat("x", MaxMessage+1), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Serve(t.Context(), strings.NewReader(tt.in), &out, tools(never))
			if (err != nil) != tt.fails {
				t.Errorf("Serve() = %v, want an error: %v", err, tt.fails)
			}
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("on stdout stands %q", line)
				}
			}
		})
	}
	t.Run("it is told to stop", func(t *testing.T) {
		in, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Serve(ctx, in, io.Discard, tools(never)); err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
}

// sample is a report with something of everything.
func sample() *report.Report {
	r := &report.Report{
		Version: "1.2.3", Base: report.Side{Rev: "before"}, Head: report.Side{Rev: "after"},
		Units: []report.Unit{
			{Name: "a", Renderer: "plain", Status: report.Rendered, Before: 1, After: 1, Notes: []string{"a note"}},
			{Name: "b", Renderer: "plain", Status: report.Failed, Error: "b.yaml:1: broken"},
			{Name: "c", Status: report.Skipped, Error: "a chart's template"},
		},
		Incidents: []incident.Incident{{ID: "i", Org: "o", Title: "t", Date: "2022", Lesson: "l"}},
		Hidden:    []report.Hidden{{Filter: "chart-labels", Fields: 1, Objects: 1}},
	}
	r.Findings = append(r.Findings, report.Finding{Finding: rule.Finding{
		Rule: "a-rule", Severity: rule.Error, Unit: "a", Units: []string{"a"}, Path: "spec.x", Message: "m \u202e\x1b[31m", Consequence: "c", Advice: "d",
		Incidents: []string{"i"}, Fingerprint: "f",
	}})
	return r
}
