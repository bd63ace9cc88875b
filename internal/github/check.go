package github

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"

	gh "github.com/google/go-github/v60/github"
)

// Limits of GitHub's checks
// (https://docs.github.com/en/rest/checks/runs#create-a-check-run).
const (
	CheckTextLimit      = 65535 // characters of a summary; we count bytes
	annotationsARequest = 50
	checkAnnotations    = 500 // more are no help to a reader, and each 50 cost a request
	// MessageLimit is the length of an annotation's message: 64 KB.
	annotationLimit = 60 << 10
)

// A Conclusion is what a check run comes to.
type Conclusion string

// The conclusions that a report can come to.
const (
	Success Conclusion = "success"
	Neutral Conclusion = "neutral"
	Failure Conclusion = "failure"
)

// A Check is a check run as it is to be shown.
type Check struct {
	Name        string
	SHA         string // the commit it stands at
	Conclusion  Conclusion
	Title       string
	Summary     string // Markdown, at most CheckTextLimit bytes
	Annotations []Annotation
	DetailsURL  string
	ExternalID  string
}

// Check makes a check run with all its annotations, and gives its address. GitHub
// takes check runs from Apps and Actions only, with the right checks: write.
// When it exists but some annotations could not be added, that is the error.
func (c *Client) Check(ctx context.Context, check Check) (url string, err error) {
	if !isSHA(check.SHA) {
		return "", &Error{What: "make the check run", Refusal: Closed, Message: "the commit it would stand at is not known"}
	}
	if len(check.Summary) > CheckTextLimit {
		return "", &Error{What: "make the check run", Refusal: TooLong, Message: fmt.Sprintf("its summary has %d bytes", len(check.Summary))}
	}
	var annotations []*gh.CheckRunAnnotation
	for _, a := range check.Annotations[:min(len(check.Annotations), checkAnnotations)] {
		if a.Path != "" {
			annotations = append(annotations, checkAnnotation(a))
		}
	}
	first := annotations[:min(len(annotations), annotationsARequest)]
	o := gh.CreateCheckRunOptions{
		Name: plain(check.Name, 100), HeadSHA: check.SHA,
		Status: gh.String("completed"), Conclusion: gh.String(string(check.Conclusion)),
		Output: check.output(first),
	}
	if check.DetailsURL != "" {
		o.DetailsURL = &check.DetailsURL
	}
	if check.ExternalID != "" {
		o.ExternalID = &check.ExternalID
	}
	// Of two check runs with one name, GitHub shows the later: it may be repeated.
	run, _, err := c.rest.Checks.CreateCheckRun(ctx, c.owner, c.repo, o)
	if err != nil {
		return "", c.explain("make the check run", err)
	}
	for done := len(first); done < len(annotations); done += annotationsARequest {
		next := annotations[done:min(done+annotationsARequest, len(annotations))]
		_, _, err := c.rest.Checks.UpdateCheckRun(context.WithValue(ctx, once{}, true), c.owner, c.repo, run.GetID(),
			gh.UpdateCheckRunOptions{Name: o.Name, Output: check.output(next)})
		if err != nil {
			return run.GetHTMLURL(), c.explain(fmt.Sprintf("add annotations %d to %d to the check run", done+1, done+len(next)), err)
		}
	}
	return run.GetHTMLURL(), nil
}

func (check Check) output(annotations []*gh.CheckRunAnnotation) *gh.CheckRunOutput {
	return &gh.CheckRunOutput{
		Title: gh.String(plain(check.Title, 255)), Summary: gh.String(check.Summary),
		Annotations: annotations,
	}
}

func checkAnnotation(a Annotation) *gh.CheckRunAnnotation {
	level := map[Level]string{LevelError: "failure", LevelWarning: "warning"}[a.Level]
	if level == "" {
		level = "notice"
	}
	line := max(1, a.Line)
	out := &gh.CheckRunAnnotation{
		Path: gh.String(plain(a.Path, 1024)), StartLine: &line, EndLine: &line, AnnotationLevel: &level,
		Message: gh.String(plainLines(a.Message, annotationLimit)),
	}
	if a.Title != "" {
		out.Title = gh.String(plain(a.Title, 255))
	}
	if out.GetMessage() == "" {
		out.Message = gh.String("-") // GitHub refuses an empty one
	}
	return out
}

// SARIFLimit is how many bytes of gzip code scanning takes
// (https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
const SARIFLimit = 10 << 20

// UploadSARIF hands a SARIF file to code scanning. Ref is a full one, such as
// refs/pull/7/merge, and sha the commit that it is at. It wants the right
// security-events: write, and code scanning switched on.
func (c *Client) UploadSARIF(ctx context.Context, sarif []byte, sha, ref string) error {
	const what = "upload to code scanning"
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(sarif); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if b.Len() > SARIFLimit {
		return &Error{What: what, Refusal: TooLong, Message: fmt.Sprintf("the file has %d bytes compressed, and GitHub takes %d", b.Len(), SARIFLimit)}
	}
	_, _, err := c.rest.CodeScanning.UploadSarif(ctx, c.owner, c.repo, &gh.SarifAnalysis{
		CommitSHA: &sha, Ref: &ref, Sarif: gh.String(base64.StdEncoding.EncodeToString(b.Bytes())),
	})
	return c.explain(what, err)
}
