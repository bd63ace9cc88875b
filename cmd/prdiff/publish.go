package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/prdiff/prdiff/internal/github"
	"github.com/prdiff/prdiff/internal/report"
)

// The places where a report can be published, in the words of --publish.
const (
	placeComment     = "comment"
	placeSummary     = "summary"
	placeAnnotations = "annotations"
	placeCheck       = "check"
	placeScanning    = "code-scanning"
	placeOutputs     = "outputs" // of the step; they are written with all others too
)

var (
	places        = []string{placeComment, placeSummary, placeAnnotations, placeCheck, placeScanning, placeOutputs}
	defaultPlaces = []string{placeComment, placeSummary, placeAnnotations}
)

// publishTime bounds all talking to GitHub.
const publishTime = 5 * time.Minute

// publishFlags say where in GitHub a report goes, beside --format.
type publishFlags struct {
	places  []string
	comment string // when a comment is made
	key     string
	author  string
}

func (f *publishFlags) register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.places, "publish", nil, "in GitHub Actions, publish at these `PLACES`: "+strings.Join(places, ", ")+" (without a value the first three)")
	fs.Lookup("publish").NoOptDefVal = strings.Join(defaultPlaces, ",")
	fs.StringVar(&f.comment, "comment", "changes", "make a comment when there are `changes`, or only when there are findings, or always; one that is there is always brought up to date")
	fs.StringVar(&f.key, "comment-key", "", "tells the comments of several workflows on one pull request apart")
	fs.StringVar(&f.author, "comment-author", "", "the login that comments are written under (default what GitHub says)")
}

func (f *publishFlags) check() error {
	for _, p := range f.places {
		if !slices.Contains(places, p) {
			return usage("--publish %s: it is one or several of %s", p, strings.Join(places, ", "))
		}
	}
	if !slices.Contains([]string{"always", "changes", "findings"}, f.comment) {
		return usage("--comment %s: it is always, changes or findings", f.comment)
	}
	return nil
}

func (f *publishFlags) to(place string) bool { return slices.Contains(f.places, place) }

// A publication is one report on its way to GitHub.
type publication struct {
	env
	publishFlags
	shown  *reportFlags
	report *report.Report
	event  github.Event
	client *github.Client // nil when there is no token
	marker github.Marker
	number int // of the pull request to comment on, 0 for none
	// preface is Markdown that stands before the report, "" for nothing.
	preface string
	// sleep waits before a request is repeated, and transport carries requests; nil
	// is the real clock and the network.
	sleep     func(context.Context, time.Duration) error
	transport http.RoundTripper

	commentURL string
	failed     bool // a place could not be reached, and that may have been for nothing but bad luck
}

// publish writes a report in every format that was asked for, and then to GitHub.
// Whatever fails, the places after it still get theirs. The error makes the exit code.
func (f *publishFlags) publish(ctx context.Context, e env, shown *reportFlags, r *report.Report) error {
	verdict := shown.publish(ctx, e, r)
	if len(f.places) == 0 {
		return verdict
	}
	p := &publication{env: e, publishFlags: *f, shown: shown, report: r}
	p.prepare()
	return p.everywhere(ctx, verdict)
}

// prepare finds out what the run is about, and opens the way to GitHub.
func (p *publication) prepare() {
	p.event, _ = p.env.event() // without one there is no pull request, and the places beside it remain
	p.open()
	if p.event.Comments() {
		p.number = p.event.Number
	}
}

// open makes the client, if there is a token.
func (p *publication) open() {
	p.marker = github.Marker{Key: p.key, SHA: p.event.HeadSHA}
	p.marker.Run, _ = strconv.ParseInt(p.getenv("GITHUB_RUN_ID"), 10, 64)
	p.marker.Attempt, _ = strconv.ParseInt(p.getenv("GITHUB_RUN_ATTEMPT"), 10, 64)
	token := p.token()
	if token == "" {
		return
	}
	client, err := github.New(github.Options{
		API: p.getenv("GITHUB_API_URL"), GraphQL: p.getenv("GITHUB_GRAPHQL_URL"), Token: token,
		Repository: p.getenv("GITHUB_REPOSITORY"), Author: p.author, UserAgent: "prdiff/" + version(), Sleep: p.sleep, Transport: p.transport,
	})
	if err != nil {
		p.warn(err.Error())
		return
	}
	p.client = client
}

// token gives the token of the run. It stays in this process: renderers and git
// get environments of their own.
func (e env) token() string {
	for _, name := range []string{"PRDIFF_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"} {
		if t := strings.TrimSpace(e.getenv(name)); t != "" {
			return t
		}
	}
	return ""
}

// everywhere publishes at every place that was asked for. Those that need no
// right come first.
func (p *publication) everywhere(ctx context.Context, verdict error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, publishTime, errors.New("publishing took longer than "+publishTime.String()))
	defer cancel()
	summarised := false
	if p.to(placeSummary) {
		summarised = p.writeSummary()
	}
	if p.to(placeComment) {
		p.writeComment(ctx)
	}
	annotated := p.to(placeCheck) && p.makeCheck(ctx, verdict)
	if p.to(placeAnnotations) && !annotated {
		p.annotate()
	}
	if p.to(placeScanning) {
		p.scan(ctx)
	}
	if p.failed && !summarised && !p.to(placeSummary) {
		p.writeSummary() // the next best place
	}
	p.writeOutputs(verdict)
	if p.failed && (verdict == nil || errors.Is(verdict, errFound)) {
		return errIncomplete
	}
	return verdict
}

// tell and warn write to the log, and warn to the run's page too.
func (p *publication) tell(format string, args ...any) {
	fmt.Fprintf(p.stderr, "prdiff: %s\n", printable(fmt.Sprintf(format, args...)))
}

func (p *publication) warn(message string) {
	p.tell("%s", message)
	if p.inActions() {
		_, _ = github.WriteAnnotations(p.log(), []github.Annotation{{Level: github.LevelWarning, Title: "prdiff", Message: message}})
	}
}

// log gives stderr without the filter that keeps the runner from obeying what is
// written to it: workflow commands of our own, whose texts are escaped, go there.
func (e env) log() io.Writer {
	if f, ok := e.stderr.(*logFilter); ok {
		return f.w
	}
	return e.stderr
}

// markdown gives the report in at most budget bytes, without the marker that the
// client writes itself.
func (p *publication) markdown(budget int, elsewhere string) (string, error) {
	o := report.Options{ShowHidden: p.shown.showHidden, Times: true, Key: p.key, Budget: budget - len(p.preface), Elsewhere: elsewhere}
	var b bytes.Buffer
	if err := report.Markdown(&b, p.report, o); err != nil {
		return "", err
	}
	return p.preface + strings.TrimPrefix(b.String(), report.Marker(p.key)+"\n"), nil
}

// writeSummary adds the report to the job's summary, and says whether it is there.
func (p *publication) writeSummary() bool {
	file := p.getenv("GITHUB_STEP_SUMMARY")
	if file == "" {
		p.tell("no job summary: GITHUB_STEP_SUMMARY is not set")
		return false
	}
	room := github.SummaryRoom(file) - 1024
	for _, budget := range []int{room, room / 2, 64 << 10} {
		text, err := p.markdown(min(budget, room), "")
		if err == nil && len(text) > room {
			continue
		}
		if err == nil {
			err = github.WriteSummary(file, text)
		}
		if err != nil {
			p.warn("no job summary: " + err.Error())
			return false
		}
		return true
	}
	p.warn(fmt.Sprintf("no job summary: there is room for %d bytes only", max(0, room)))
	return false
}

// runURL gives the address of the run's page, where the summary is, "" when it is
// not known.
func (p *publication) runURL() string {
	server, err := url.Parse(p.getenv("GITHUB_SERVER_URL"))
	if err != nil || server.Scheme != "https" && server.Scheme != "http" || server.Host == "" || server.User != nil || strings.ContainsAny(server.String(), "()<> \n") {
		return ""
	}
	id, err := strconv.ParseInt(p.getenv("GITHUB_RUN_ID"), 10, 64)
	owner, name, ok := strings.Cut(p.getenv("GITHUB_REPOSITORY"), "/")
	if err != nil || !ok {
		return ""
	}
	return fmt.Sprintf("%s/%s/%s/actions/runs/%d", strings.TrimRight(server.String(), "/"), url.PathEscape(owner), url.PathEscape(name), id)
}

// Comments are sent at these lengths, in bytes, until GitHub takes one. The
// first leaves room for the marker.
var commentBudgets = []int{github.CommentLimit - 512, 30 << 10, 8 << 10}

// worth says whether the report has something to say that is worth a comment.
func (p *publication) worth() bool {
	if p.report.Count(report.Failed) > 0 || p.report.Worst() > 0 {
		return true
	}
	return p.comment == "always" || p.comment == "changes" && len(p.report.Visible()) > 0
}

// writeComment publishes the one comment.
func (p *publication) writeComment(ctx context.Context) {
	if p.number == 0 {
		p.tell("no comment: the event %s is about no pull request", p.event.Name)
		return
	}
	if p.client == nil {
		p.tell("no comment: there is no token")
		return
	}
	elsewhere := ""
	if page := p.runURL(); page != "" && p.to(placeSummary) {
		elsewhere = "[the job summary](" + page + ") has more"
	}
	c := github.Comment{Number: p.number, Marker: p.marker, Worth: p.worth()}
	for _, budget := range commentBudgets {
		text, err := p.markdown(budget, elsewhere)
		if err != nil {
			p.failed = true
			p.warn("no comment: " + err.Error())
			return
		}
		if len(c.Bodies) == 0 || len(text) < len(c.Bodies[len(c.Bodies)-1]) {
			c.Bodies = append(c.Bodies, text)
		}
	}
	result, err := p.client.Comment(ctx, c)
	if err != nil {
		p.refused("comment", err)
		return
	}
	p.commentURL = result.URL
	p.tell("%s", result)
	if result.Warning != "" {
		p.warn(result.Warning)
	}
}

// refused tells why a place took nothing. When that is a right that the run does
// not have, or a place that is closed, nothing is wrong with the run, and its exit
// code is that of the findings; after a fault it is not, as an outdated report may
// stand where this one should.
func (p *publication) refused(what string, err error) {
	var e *github.Error
	errors.As(err, &e)
	switch {
	case e != nil && e.Refusal == github.Forbidden:
		why := p.event.WhyReadOnly()
		if why == "" {
			why = "the token has no right to: " + map[string]string{
				"comment": "give the job `permissions: pull-requests: write`", "check run": "give the job `permissions: checks: write`",
				"upload to code scanning": "give the job `permissions: security-events: write`",
			}[what]
		}
		p.tell("no %s: %s (%v)", what, why, err)
	case e != nil && e.Refusal == github.Closed:
		p.tell("no %s: %v", what, err)
	default:
		p.failed = true
		p.warn(fmt.Sprintf("no %s: %v", what, err))
	}
}

// publishFailure tells that there is no report, and why: in the summary, as an
// annotation, and in the comment that an earlier run made, which would otherwise
// go on telling of another state.
func (f *publishFlags) publishFailure(ctx context.Context, e env, err error) error {
	if len(f.places) == 0 || errors.Is(err, errFound) || errors.Is(err, errIncomplete) {
		return err
	}
	p := &publication{env: e, publishFlags: *f, shown: &reportFlags{}, report: &report.Report{
		Version: version(), Units: []report.Unit{{Name: "everything", Status: report.Failed, Error: e.withoutToken(err.Error())}},
	}}
	p.prepare()
	p.report.Head.SHA = p.event.HeadSHA
	if joined := p.everywhere(ctx, errIncomplete); joined != errIncomplete {
		return errors.Join(err, joined)
	}
	return err
}

// withoutToken takes the token out of a text.
func (e env) withoutToken(s string) string {
	if t := e.token(); t != "" {
		s = strings.ReplaceAll(s, t, "***")
	}
	return s
}
