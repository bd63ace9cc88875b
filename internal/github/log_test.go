package github

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary")
	if room := SummaryRoom(file); room != SummaryLimit {
		t.Errorf("room = %d", room)
	}
	if err := WriteSummary(file, strings.Repeat("x", 1000)); err != nil {
		t.Fatal(err)
	}
	if err := WriteSummary(file, strings.Repeat("y", SummaryLimit-1001)); err == nil {
		t.Error("a summary over the limit was written: GitHub would show none of it")
	}
	if err := WriteSummary(file, strings.Repeat("y", SummaryLimit-1002)); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != SummaryLimit {
		t.Errorf("%v, %v", info, err)
	}
}

func TestOutputs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	words := []string{"a", "b", "c", "d", "e"}
	random := func() string {
		w := words[0]
		words = words[1:]
		return w
	}
	value := "x\nprdiff_a\nevil=1\nEOF"
	if err := WriteOutputs(file, []Output{{"url", value}, {"plain", ""}}, random); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "url<<prdiff_ab\n" + value + "\nprdiff_ab\nplain<<prdiff_c\n\nprdiff_c\n"; string(data) != want {
		t.Errorf("file = %q, want %q", data, want)
	}
	if err := WriteOutputs(file, []Output{{"a\nb", "x"}}, random); err == nil {
		t.Error("a name of two lines was written")
	}
}

func TestAnnotations(t *testing.T) {
	var list []Annotation
	for i := range 25 {
		list = append(list, Annotation{Level: LevelError, Path: "a,b:c%.yaml", Line: i, Title: "t\n::error::x", Message: "100% of\nthem\r ##[error]boo \u202e"})
	}
	list = append(list, Annotation{Level: LevelWarning, Message: "m"}, Annotation{Level: "bogus::", Message: "n"})
	var b bytes.Buffer
	left, err := WriteAnnotations(&b, list)
	if err != nil || left != 15 {
		t.Errorf("left = %d, %v; want 15", left, err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d lines, want 10 errors, a warning and a notice", len(lines))
	}
	want := `::error file=a%2Cb%3Ac%25.yaml,line=1,title=t %3A%3Aerror%3A%3Ax::100%25 of%0Athem #\#[error]boo \u202e`
	if lines[0] != want {
		t.Errorf("line = %q\nwant   %q", lines[0], want)
	}
	if lines[10] != "::warning ::m" || lines[11] != "::notice ::n" {
		t.Errorf("lines = %q", lines[10:])
	}
}

func TestCheck(t *testing.T) {
	var list []Annotation
	for i := range 120 {
		list = append(list, Annotation{Level: LevelError, Path: fmt.Sprintf("f%d.yaml", i), Message: "m"})
	}
	s := newServer(t)
	check := Check{Name: "prdiff", SHA: headSHA, Conclusion: Failure, Title: "t", Summary: "s", Annotations: list}
	url, err := s.client.Check(context.Background(), check)
	if err != nil || url == "" {
		t.Fatalf("url = %q, %v", url, err)
	}
	sent := 0
	for _, key := range []string{"POST /repos/dev/infra/check-runs", "PATCH /repos/dev/infra/check-runs/9"} {
		for _, body := range s.bodies[key] {
			var in struct {
				Output struct{ Annotations []any }
			}
			if err := json.Unmarshal(body, &in); err != nil {
				t.Fatal(err)
			}
			if len(in.Output.Annotations) > 50 {
				t.Errorf("%d annotations in one request", len(in.Output.Annotations))
			}
			sent += len(in.Output.Annotations)
		}
	}
	if sent != 120 {
		t.Errorf("%d annotations sent, want all 120", sent)
	}
	check.Summary = strings.Repeat("x", CheckTextLimit+1)
	if _, err := s.client.Check(context.Background(), check); refusalOf(err) != TooLong {
		t.Errorf("error = %v, want too long", err)
	}
	s.fault = failFirst("POST", 100, 403, "Resource not accessible by integration")
	check.Summary = "s"
	if _, err := s.client.Check(context.Background(), check); refusalOf(err) != Forbidden {
		t.Errorf("error = %v, want forbidden", err)
	}
}

func TestUploadSARIF(t *testing.T) {
	s := newServer(t)
	const key = "POST /repos/dev/infra/code-scanning/sarifs"
	if err := s.client.UploadSARIF(context.Background(), []byte(`{"version":"2.1.0"}`), mergeSHA, "refs/pull/7/merge"); err != nil {
		t.Fatal(err)
	}
	var in struct {
		CommitSHA string `json:"commit_sha"`
		Ref       string
		Sarif     string
	}
	if err := json.Unmarshal(s.bodies[key][0], &in); err != nil {
		t.Fatal(err)
	}
	zipped, err := base64.StdEncoding.DecodeString(in.Sarif)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil || string(data) != `{"version":"2.1.0"}` || in.CommitSHA != mergeSHA || in.Ref != "refs/pull/7/merge" {
		t.Errorf("%s, %+v, %v", data, in, err)
	}
	s.fault = failFirst("POST", 100, 403, "Advanced Security must be enabled for this repository to use code scanning.")
	if err := s.client.UploadSARIF(context.Background(), nil, mergeSHA, "refs/heads/main"); refusalOf(err) != Closed {
		t.Errorf("error = %v, want closed", err)
	}
}

func TestPullOf(t *testing.T) {
	pull := func(number int, sha string, headRepo int64, base, state string) any {
		return map[string]any{"number": number, "state": state, "head": map[string]any{"sha": sha, "repo": map[string]any{"id": headRepo}},
			"base": map[string]any{"sha": baseSHA, "ref": "main", "repo": map[string]any{"full_name": base}}}
	}
	ev := Event{Name: "workflow_run", HeadSHA: headSHA, HeadRepo: "mallory/infra", HeadRepoID: 12, HeadBranch: "feature"}
	for _, c := range []struct {
		name  string
		pulls []any
		want  int
		say   string
	}{
		{"the one at that commit of that repository", []any{pull(1, otherSHA, 12, "dev/infra", "open"), pull(2, headSHA, 13, "dev/infra", "open"),
			pull(3, headSHA, 12, "mallory/infra", "open"), pull(4, headSHA, 12, "dev/infra", "closed"), pull(5, headSHA, 12, "dev/infra", "open")}, 5, ""},
		{"one that moved on is not commented on", []any{pull(5, otherSHA, 12, "dev/infra", "open")}, 0, "moved on"},
		{"two are one too many", []any{pull(5, headSHA, 12, "dev/infra", "open"), pull(6, headSHA, 12, "dev/infra", "open")}, 0, "2 open pull requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.pulls = c.pulls
			p, err := s.client.PullOf(context.Background(), ev)
			if p.Number != c.want || (err != nil) != (c.say != "") {
				t.Fatalf("pull = %+v, %v", p, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.say) {
				t.Errorf("error = %v, want %q", err, c.say)
			}
		})
	}
	t.Run("a commit that this repository does not know is looked for by its branch", func(t *testing.T) {
		s := newServer(t)
		s.pulls = []any{pull(5, headSHA, 12, "dev/infra", "open")}
		s.fault = failFirst("GET", 1, 422, "No commit found for SHA")
		if p, err := s.client.PullOf(context.Background(), ev); err != nil || p.Number != 5 {
			t.Errorf("pull = %+v, %v", p, err)
		}
	})
}
