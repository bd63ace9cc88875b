package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

var pageParts = regexp.MustCompile(`(?s)^(.*)<style>(.*)</style>(.*)<script type="application/json" id="data">(.*)</script>\n<script>(.*)</script>(.*)$`)

// openPage writes a page and takes it apart: what is markup, and its style, data
// and script.
func openPage(t testing.TB, r *Report, o Options) (markup, style, data, script string) {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, o); err != nil {
		t.Fatal(err)
	}
	m := pageParts.FindStringSubmatch(b.String())
	if m == nil {
		t.Fatalf("the page is not made as expected: %.400s", b.String())
	}
	return m[1] + m[3] + m[6], m[2], m[4], m[5]
}

// page writes the page as its golden files have it: the style and the script stand
// in files of their own, and the data is laid out.
func page(t testing.TB, r *Report, o Options) string {
	markup, style, data, script := openPage(t, r, o)
	if style != pageCSS || script != pageJS {
		t.Error("the style or the script is another one than that of the files")
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(data), "", " "); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAllString(markup, "sha256-...&#39;") + "\n" + pretty.String() + "\n"
}

func TestPageRunsItsOwnScriptAlone(t *testing.T) {
	markup, style, _, script := openPage(t, sample(t), Options{})
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(markup)
	if policy == nil {
		t.Fatal("the page has no policy")
	}
	want := "default-src 'none'; style-src " + hashSource(style) + "; script-src " + hashSource(script) + "; img-src data:; base-uri 'none'; form-action 'none'"
	if got := html.UnescapeString(policy[1]); got != want {
		t.Errorf("policy = %s\nwant %s", got, want)
	}
	for _, m := range regexp.MustCompile(` (?:src|href|action|style|on[a-z]+)=("[^"]*"|[^ >]*)`).FindAllString(markup, -1) {
		if !slices.Contains([]string{` href="data:,"`, ` href="#main"`}, m) {
			t.Errorf("%s in the page: it needs something else, or runs something", m)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest", "import(", "http:", "https:"} {
		if strings.Contains(strings.ReplaceAll(script, "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("the script has %s", bad)
		}
	}
}

func TestPageMakesHostileTextInert(t *testing.T) {
	markup, _, data, _ := openPage(t, hostile(), Options{})
	for _, bad := range []string{"<img", "<script", "</sub>", "-->", "\x1b", "\u202e", "href=\"https"} {
		if strings.Contains(markup, bad) {
			t.Errorf("%q stands bare in the page", bad)
		}
	}
	for _, tag := range []string{"details", "ul", "li", "pre", "section", "code", "table"} {
		if open, closed := len(regexp.MustCompile("<"+tag+"[ >]").FindAllString(markup, -1)), strings.Count(markup, "</"+tag+">"); open != closed {
			t.Errorf("%d <%s> and %d </%s>", open, tag, closed, tag)
		}
	}
	if strings.ContainsAny(data, "<>&") {
		t.Error("the data could end its element")
	}
	var values any
	if err := json.Unmarshal([]byte(data), &values); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			seen++
			for _, r := range x {
				if r != '\n' && r != '\t' && unsafeRune(r) {
					t.Errorf("character %U in %q", r, x)
				}
			}
		case []any:
			for _, item := range x {
				walk(item)
			}
		case map[string]any:
			for k, item := range x {
				walk(k)
				walk(item)
			}
		}
	}
	walk(values)
	if seen < 50 {
		t.Errorf("%d texts in the data: the test looks at nothing", seen)
	}
	var d pageData
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	for _, i := range d.Incidents {
		if i.URL != "" {
			t.Errorf("%q is a link", i.URL)
		}
	}
	for _, c := range d.Changes {
		if !regexp.MustCompile(`^c-[0-9a-f]{12}(-\d+)?$`).MatchString(c.ID) {
			t.Errorf("id %q", c.ID)
		}
	}
}

// TestPageOfThousands holds the size of a page of 5,000 changed objects, and of
// one whose diffs alone are larger than a page may be.
func TestPageOfThousands(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lines   int // of each diff
		dropped bool
	}{{"5,000 objects", 15, false}, {"5,000 objects with long diffs", 400, true}} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Base: Side{Rev: "a"}, Head: Side{Rev: "b"}}
			for i := range 5000 {
				ref := object.Ref{Unit: fmt.Sprintf("clusters/c%02d", i/100), Group: "apps", Kind: "Deployment", Namespace: "n", Name: fmt.Sprintf("app-%04d", i)}
				c := Change{Diff: "@@ -1,9 +1,9 @@\n" + strings.Repeat("-        image: registry.example/team/app:1.0.0\n", tt.lines)}
				c.Change = diff.Change{Action: diff.Update, Ref: ref, Fields: []diff.Field{{Path: "spec.replicas", Op: diff.Set, Before: object.Of(1), After: object.Of(i)}}}
				r.Changes = append(r.Changes, c)
			}
			var b bytes.Buffer
			if err := HTML(&b, r, Options{}); err != nil {
				t.Fatal(err)
			}
			if b.Len() > 15<<20 {
				t.Errorf("%d bytes, want 15 MB at most", b.Len())
			}
			if got := strings.Contains(b.String(), "left out for want of room"); got != tt.dropped {
				t.Errorf("diffs were left out: %v, want %v", got, tt.dropped)
			}
		})
	}
}

func TestPageHoldsNoiseApart(t *testing.T) {
	_, _, data, _ := openPage(t, sample(t), Options{})
	var d pageData
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	noise := 0
	for _, c := range d.Changes {
		if c.Noise {
			noise++
			if len(c.Hidden) != 1 || c.Hidden[0][3] != "chart-labels" {
				t.Errorf("%s %s is hidden, and its fields are %q", c.Kind, c.Name, c.Hidden)
			}
		}
	}
	if noise != 1 {
		t.Errorf("%d changes are hidden, want 1", noise)
	}
}
