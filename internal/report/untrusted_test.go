package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/rule"
)

func TestParseUntrusted(t *testing.T) {
	library := incident.Embedded()
	known := []*rule.Rule{{ID: "known-rule", Title: "ours", Doc: "ours"}}
	t.Run("what prdiff wrote is read back, but for what only we may say", func(t *testing.T) {
		r := hostile()
		id := library.All()[0].ID
		r.Base.SHA, r.Head.SHA = strings.Repeat("a", 40), ""
		for i := range r.Findings {
			r.Findings[i].Rule, r.Findings[i].Incidents = "known-rule", []string{id, nasty}
		}
		r.Rules = []Rule{{ID: "known-rule", Title: nasty, Severity: rule.Error, Doc: nasty}}
		r.Incidents = []incident.Incident{{ID: id, Org: "Evil", Title: nasty, URL: "https://evil.example/"}}
		var b bytes.Buffer
		if err := JSON(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := ParseUntrusted(b.Bytes(), library, known)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Findings) != 3 || len(got.Changes) != 1 || got.Units[0].Error != nasty {
			t.Errorf("got %d findings, %d changes", len(got.Findings), len(got.Changes))
		}
		if len(got.Incidents) != 1 || got.Incidents[0].URL != library.All()[0].URL {
			t.Errorf("incidents = %+v, want the library's own", got.Incidents)
		}
		if len(got.Rules) != 1 || got.Rules[0].Title != "ours" || got.Cases != nil {
			t.Errorf("rules = %+v, cases = %+v", got.Rules, got.Cases)
		}
	})
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, c := range []struct{ name, data, say string }{
		{"nothing", "", "unexpected EOF"},
		{"another schema", `{"schema":2}`, "schema is 2"},
		{"a field that nobody knows", `{"schema":1,"markdown":"<img>"}`, "unknown field"},
		{"an inner field that nobody knows", `{"schema":1,"units":[{"name":"a","html":"x"}]}`, "unknown field"},
		{"a field twice", `{"schema":1,"units":[{"name":"a","status":"failed","status":"unchanged"}]}`, `"status" twice`},
		{"the same field in another case", `{"schema":1,"Schema":1,"SCHEMA":1,"units":null,"UNITS":[{"status":"x"}]}`, "unknown status"},
		{"two reports", `{"schema":1}{"schema":1}`, "more than one value"},
		{"depth", `{"schema":1,"changes":[{"action":"update","fields":[{"before":` + deep + `}]}]}`, "more than 64 levels"},
		{"depth without an end", strings.Repeat(`{"a":`, 1_000_000), "more than 64 levels"},
		{"a long text", `{"schema":1,"tool":{"version":"` + strings.Repeat("x", untrustedText+1) + `"}}`, "a text of"},
		{"a long file", strings.Repeat(" ", UntrustedLimit+1), "longer than"},
		{"bytes that are no text", "{\"schema\":1,\"tool\":{\"version\":\"\xff\"}}", "not UTF-8"},
		{"a commit that is none", `{"schema":1,"head":{"rev":"","sha":"](https://evil.example)"}}`, "is not the id of a commit"},
		{"a rule that is none", `{"schema":1,"findings":[{"rule":"<b>","severity":"error"}]}`, "is not the id of a rule"},
		{"a wrong type", `{"schema":1,"units":{"a":1}}`, "not a prdiff report"},
		{"numbers beyond every type", `{"schema":1,"units":[{"status":"failed","before":1e999}]}`, "not a prdiff report"},
		{"too many units", `{"schema":1,"units":[` + strings.TrimSuffix(strings.Repeat(`{"status":"failed"},`, untrustedUnits+1), ",") + `]}`, "are too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseUntrusted([]byte(c.data), library, known)
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error = %v, want %q", err, c.say)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error itself has %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzParseUntrusted(f *testing.F) {
	var b bytes.Buffer
	if err := JSON(&b, hostile(), Options{}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":1,"findings":[{"rule":"a","severity":"error","incidents":["x"]}]}`))
	f.Add([]byte(`{"schema":1,"changes":[{"action":"update","fields":[{"path":"a[b=c]","op":"add","after":{"x":[1,null]}}]}]}`))
	library := incident.Embedded()
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseUntrusted(data, library, nil)
		if err != nil {
			return
		}
		for _, write := range []Reporter{Text, Markdown, JSON} {
			if err := write(&bytes.Buffer{}, r, Options{ShowHidden: true}); err != nil {
				t.Error(err)
			}
		}
	})
}
