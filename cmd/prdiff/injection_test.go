package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	xhtml "golang.org/x/net/html"

	"github.com/prdiff/prdiff/internal/incident"
)

// injections are texts that do something where they are not inert: to the runner
// that reads the log, to later steps, in GitHub's Markdown, in HTML, in a terminal.
// Each has the word CANARY, so that it can be found again.
var injections = []string{
	// Commands of the runner.
	"::error::CANARY", "::warning file=a.go,line=1::CANARY", "  ::notice::CANARY", "\t::debug::CANARY", "::set-output name=verdict::CANARY",
	"::save-state name=x::CANARY", "::set-env name=PATH::CANARY", "::add-path::/CANARY", "::add-mask::CANARY", "::stop-commands::CANARY",
	"::add-matcher::CANARY.json", "::group::CANARY", "::endgroup::CANARY", "::echo::on CANARY", "x\n::error::CANARY", "x\r\n::error::CANARY", "x\r::error::CANARY",
	"##[error]CANARY", "x ##[warning]CANARY", "##[group]CANARY", "##[set-env name=x]CANARY", "x\u2028::error::CANARY", "\ufeff::error::CANARY", "\u00a0::error::CANARY",
	"%0A::error::CANARY", "%0D%0A::error::CANARY", "x\x85::error::CANARY", "\v::error::CANARY", "\x00::error::CANARY",
	// Outputs of the step.
	"CANARY\nEOF\nverdict=clean", "CANARY\nverdict<<EOF\nclean\nEOF", "CANARY\nghadelimiter\nverdict=clean", "CANARY\nprdiff_\nverdict=clean",
	// Markdown.
	"@canary-org/CANARY", "@CANARY", "x@CANARY", "\\@CANARY", "&#64;CANARY", "CANARY #1", "CANARY GH-1", "canary/repo#1 CANARY", "fixes #1 CANARY", "CANARY 0123456789abcdef0123456789abcdef01234567",
	"![CANARY](https://evil.example/beacon.png)", "[CANARY](https://evil.example/)", "[CANARY](javascript:alert(1))", "<https://evil.example/CANARY>", "https://evil.example/CANARY", "www.evil.example/CANARY",
	"[CANARY]: https://evil.example/", "[CANARY][1]\n\n[1]: https://evil.example", "```\nCANARY\n```", "````\n# CANARY\n````", "`CANARY", "``CANARY`", "~~~\nCANARY", "CANARY` @canary-org `", "| CANARY | x |\n|---|---|", "CANARY | x", "# CANARY", "\n\n# CANARY\n\n", "> [!CAUTION]\n> CANARY", "- [ ] CANARY", "1. CANARY", "---\nCANARY\n===", "    CANARY", "$\\color{red}{CANARY}$", "$$CANARY$$", "**CANARY**", "_CANARY_", "~~CANARY~~", ":tada: CANARY", "CANARY[^1]\n\n[^1]: @canary-org", "```mermaid\ngraph TD; CANARY-->B; click CANARY \"https://evil.example\"\n```", "```suggestion\nCANARY\n```",
	// HTML.
	"<img src=https://evil.example/x.png alt=CANARY>", "<img src=x onerror=alert(1)>CANARY", "<script>CANARY</script>", "<a href=\"https://evil.example\">CANARY</a>", "</details>CANARY", "</code></pre>CANARY", "</summary>CANARY", "--><b>CANARY", "<!-- CANARY", "<!-- prdiff:comment v1 key=default run=999999999999 --> CANARY", "<iframe src=https://evil.example>CANARY", "<style>CANARY{}</style>", "<svg onload=alert(1)>CANARY", "&lt;img src=x&gt;CANARY", "<details open><summary>CANARY", "\"><img src=x>CANARY", "<picture><source srcset=https://evil.example/CANARY></picture>", "<h1>CANARY</h1>", "<g-emoji>CANARY",
	// Terminals and eyes.
	"\x1b[31mCANARY\x1b[0m", "\x1b]0;CANARY\x07", "\x1b]8;;https://evil.example\x1b\\CANARY\x1b]8;;\x1b\\", "\u202eCANARY\u202c", "\u2066CANARY\u2069", "\u200bCANARY\u200b", "CAN\u00adARY CANARY", "\u061cCANARY", "CANARY\x08\x08\x08", "CANARY\x7f", "\U000e0041CANARY",
	// Templates and shells.
	"${{ github.token }} CANARY", "$(touch CANARY)", "`touch CANARY`", "; touch CANARY #", "$GITHUB_TOKEN CANARY", "%s%n%d CANARY", "{{ .CANARY }}", "../../../CANARY", "CANARY\x00", "'CANARY", "\"CANARY\"",
}

// TestInjections runs every text through every field of a manifest, through file
// names and through error texts, all the way to every place where a report goes.
func TestInjections(t *testing.T) {
	if len(injections) < 60 {
		t.Fatalf("%d texts", len(injections))
	}
	// A few at a time, each in a folder of its own: a run takes its time.
	for texts := range slices.Chunk(injections, 6) {
		t.Run(fmt.Sprintf("%.20q", texts), func(t *testing.T) {
			h := newHub(t)
			s := newStage(t, h, pullEvent)
			for i, text := range texts {
				writeInjected(t, filepath.Join(s.dir, "before", fmt.Sprint(i)), text, 1)
				writeInjected(t, filepath.Join(s.dir, "after", fmt.Sprint(i)), text, 2)
			}
			e := s.env()
			e.stderr = &s.stderr // run filters it itself
			args := []string{"diff", "before", "after", "--publish=comment,summary,annotations,check,code-scanning", "--comment-key", texts[0], "--show-hidden"}
			for _, f := range actionFormats {
				if reporterOf(f.format) != nil {
					args = append(args, "--format", f.format+"="+filepath.Join(s.dir, f.file))
				}
			}
			args = append(args, "--format", "text")
			code := run(context.Background(), e, args)
			for i := range texts {
				if n := strings.Count(s.file("report.json"), fmt.Sprintf(`"name": "%d`, i)); n == 0 || !strings.Contains(s.file("summary"), "CANARY") {
					t.Fatalf("text %d is nowhere: the test tests nothing\n%s", i, s.stderr.String())
				}
			}
			checkLog(t, "stdout", s.stdout.String())
			checkLog(t, "stderr", s.stderr.String())
			checkOutputs(t, code, s.file("output"))
			if len(h.comments) != 1 {
				t.Fatalf("%d comments: %s", len(h.comments), s.stderr.String())
			}
			body := h.comments[0].Body
			first, rest, _ := strings.Cut(body, "\n")
			if !regexp.MustCompile(`^<!-- prdiff:comment v1 key=[A-Za-z0-9._/]+ run=10 attempt=1 sha=1{40} -->$`).MatchString(first) {
				t.Errorf("marker = %q", first)
			}
			checkMarkdown(t, "comment", rest)
			checkMarkdown(t, "summary", s.file("summary"))
			checkMarkdown(t, "report.md", strings.SplitN(s.file("report.md"), "\n", 2)[1])
			for _, check := range h.checks {
				checkMarkdown(t, "check run", check["output"].(map[string]any)["summary"].(string))
				for _, a := range check["output"].(map[string]any)["annotations"].([]any) {
					for _, field := range a.(map[string]any) {
						if text, ok := field.(string); ok {
							checkPlain(t, "annotation of the check run", text)
						}
					}
				}
			}
			for _, f := range actionFormats {
				if data := s.file(f.file); f.format == "json" || f.format == "sarif" && data != "" {
					if !json.Valid([]byte(data)) {
						t.Errorf("%s is no JSON", f.file)
					}
					checkLog(t, f.file, data)
				}
			}
			if data := s.file("report.sarif"); data != "" {
				checkSARIF(t, data)
			}
			if _, err := os.Stat(filepath.Join(s.dir, "CANARY")); err == nil {
				t.Error("a command was run")
			}
		})
	}
}

// writeInjected writes manifests with the text in every field, a file whose name
// is the text, and a file that is broken where the text stands.
func writeInjected(t *testing.T, dir, text string, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{text: text, "x": fmt.Sprint(text, n), fmt.Sprint(text, n): text}
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "namespace": text, "labels": all, "annotations": all}
	}
	container := map[string]any{
		"name": text, "image": fmt.Sprint(text, ":", n), "command": []any{text}, "args": []any{text, fmt.Sprint("--flag=", text, n)},
		"env":   []any{map[string]any{"name": text, "value": fmt.Sprint(text, n)}},
		"ports": []any{map[string]any{"name": text, "containerPort": 80 + n}}, "resources": map[string]any{"limits": map[string]any{"memory": text}},
		"readinessProbe": map[string]any{"httpGet": map[string]any{"path": text, "port": text}, "failureThreshold": 10 / n},
	}
	objects := []any{
		map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(text), "spec": map[string]any{"replicas": 10 / n,
			"selector": map[string]any{"matchLabels": map[string]any{"app": text}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": text}, "annotations": all},
				"spec": map[string]any{"containers": []any{container}, "serviceAccountName": fmt.Sprint(text, n), "nodeSelector": all}}}},
		map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta(text), "spec": map[string]any{
			"selector": map[string]any{"app": text, fmt.Sprint("zone", n): text}, "ports": []any{map[string]any{"name": text, "port": 80, "targetPort": text}}}},
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("config"), "data": map[string]any{text: fmt.Sprint("a\n", text, "\n", n), "file.yaml": fmt.Sprintf("k: %q\n", fmt.Sprint(text, n))}},
		map[string]any{"apiVersion": text, "kind": text, "metadata": meta(fmt.Sprint("kind", n))},
		map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta("secret"), "stringData": map[string]any{text: fmt.Sprint(text, n)}},
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Logf("%.40q cannot be the name of a file here: %v", name, err)
		}
	}
	for i, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("o%d.json", i), data)
	}
	name := strings.NewReplacer("/", "∕", "\x00", "").Replace(text)
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "named"}, "data": map[string]any{"n": fmt.Sprint(n)}})
	if err != nil {
		t.Fatal(err)
	}
	write(name+".yaml", data)
	broken := filepath.Join(dir, "broken")
	if err := os.MkdirAll(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	write("broken/"+name+".yaml", []byte(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %d, name: \n%s: [\n", n, text)))
}

// ourCommand is a workflow command as we write it: an annotation, whole in its line.
var ourCommand = regexp.MustCompile(`^::(error|warning|notice) (file=[^:,\n]+,line=[0-9]+,)?title=prdiff[^:,\n]*::[^\r\n]*$`)

// checkLog looks at a log as the runner does.
func checkLog(t *testing.T, where, log string) {
	t.Helper()
	if strings.Contains(log, "##[") {
		t.Errorf("%s: the runner would obey %q", where, around(log, "##["))
	}
	for _, line := range regexp.MustCompile("\r\n|\n|\r|\u2028|\u0085").Split(log, -1) {
		if trimmed := strings.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == 0 }); strings.HasPrefix(trimmed, "::") && !(where == "stderr" && ourCommand.MatchString(line)) {
			t.Errorf("%s: the runner would obey %q", where, line)
		}
	}
	checkPlain(t, where, log)
}

// checkPlain looks for characters that act on terminals and readers.
func checkPlain(t *testing.T, where, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Errorf("%s: character %U in %q", where, r, text[max(0, i-30):min(len(text), i+10)])
			return
		}
	}
}

func around(s, sub string) string {
	i := strings.Index(s, sub)
	return s[max(0, i-30):min(len(s), i+30)]
}

// checkOutputs reads the outputs as the runner does.
func checkOutputs(t *testing.T, code int, file string) {
	t.Helper()
	got := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			t.Fatalf("outputs: %q is no beginning of a value", lines[i])
		}
		j := slices.Index(lines[i+1:], end)
		if j < 0 {
			t.Fatalf("outputs: %s does not end", name)
		}
		if _, twice := got[name]; twice {
			t.Errorf("outputs: %s is set twice", name)
		}
		got[name] = strings.Join(lines[i+1:i+1+j], "\n")
		i += j + 1
	}
	if want := []string{"clean", "found", "incomplete"}[code]; got["verdict"] != want || got["units-failed"] == "" || got["comment-url"] != "https://github.com/dev/infra/pull/7#c1" {
		t.Errorf("outputs = %v", got)
	}
}

// What a comment of ours is made of.
var allowedElements = strings.Fields("html head body h3 p strong b em code pre details summary sub blockquote ul ol li table thead tbody tr th td br")

// liveText is what GitHub makes something of in text that is not code.
var liveText = regexp.MustCompile(`(?i)(^|[^\w` + "`" + `])@[\w-]+|#\d|\bGH-\d|https?://|www\.\w|\b[0-9a-f]{40}\b|:tada:`)

// renderMarkdown makes HTML of Markdown as GitHub does, and takes nothing out.
// The end-to-end tests have GitHub's own parser do it.
var renderMarkdown = func(md []byte) ([]byte, error) {
	var b bytes.Buffer
	gfm := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithRendererOptions(html.WithUnsafe(), html.WithHardWraps()))
	err := gfm.Convert(md, &b)
	return b.Bytes(), err
}

// checkMarkdown renders Markdown as GitHub does, raw HTML included, and looks for
// anything that is not ours. What GitHub's sanitizer would take out is a fault too.
func checkMarkdown(t *testing.T, where, md string) {
	t.Helper()
	checkPlain(t, where, md)
	page, err := renderMarkdown([]byte(md))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := xhtml.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{"https://github.com/dev/infra/actions/runs/10": true}
	for _, i := range incident.Embedded().All() {
		sources[i.URL] = true
	}
	var walk func(n *xhtml.Node, code bool)
	walk = func(n *xhtml.Node, code bool) {
		switch n.Type {
		case xhtml.CommentNode:
			t.Errorf("%s: a comment %.80q", where, n.Data)
		case xhtml.TextNode:
			if found := liveText.FindString(n.Data); found != "" && !code {
				t.Errorf("%s: %q is live in %.120q", where, found, n.Data)
			}
		case xhtml.ElementNode:
			code = code || n.Data == "code" || n.Data == "pre"
			if n.Data == "a" {
				for _, a := range n.Attr {
					if a.Key != "href" || !sources[a.Val] {
						t.Errorf("%s: a link with %s=%.80q", where, a.Key, a.Val)
					}
				}
				code = true // the text of our own link
			} else if !slices.Contains(allowedElements, n.Data) {
				t.Errorf("%s: an element <%s>", where, n.Data)
			} else {
				for _, a := range n.Attr {
					if n.Data == "details" && a.Key == "open" && a.Val == "" {
						continue // the first warning, where nothing is worse
					}
					if !(n.Data == "code" && a.Key == "class" && (a.Val == "language-diff" || a.Val == "language-mermaid")) && a.Key != "align" && a.Key != "style" {
						t.Errorf("%s: <%s> with %s=%.80q", where, n.Data, a.Key, a.Val)
					}
				}
			}
			if n.Data == "h3" && !strings.ContainsAny(textOf(n), "🔴🟡🔵🟢✅⚠❌⚪") {
				t.Errorf("%s: a heading that is not ours: %.80q", where, textOf(n))
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, code)
		}
	}
	walk(doc, false)
	if open, closed := strings.Count(md, "\n<details>")+strings.Count(md, "\n<details open>"), strings.Count(md, "</details>\n"); open != closed {
		t.Errorf("%s: %d <details> and %d </details>", where, open, closed)
	}
}

func textOf(n *xhtml.Node) string {
	if n.Type == xhtml.TextNode {
		return n.Data
	}
	var s string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		s += textOf(c)
	}
	return s
}

// checkSARIF looks at the texts of results: SARIF reads [words](address) as a link
// in plain text too.
func checkSARIF(t *testing.T, data string) {
	t.Helper()
	var in struct {
		Runs []struct {
			Results []struct {
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`(^|[^\\])\[[^\]]*[^\\]\]\(`)
	for _, run := range in.Runs {
		for _, r := range run.Results {
			if found := link.FindString(r.Message.Text); found != "" {
				t.Errorf("SARIF: a link %q in %.120q", found, r.Message.Text)
			}
			checkPlain(t, "SARIF", r.Message.Text)
			for _, l := range r.Locations {
				if uri := l.PhysicalLocation.ArtifactLocation.URI; strings.ContainsAny(uri, " \n<>\"") || strings.Contains(uri, "://") {
					t.Errorf("SARIF: the address %.80q", uri)
				}
			}
		}
	}
}
