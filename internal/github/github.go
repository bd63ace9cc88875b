// Package github publishes a finished report where people look for it: the one
// comment of a pull request, the job summary, annotations, a check run and code
// scanning. It reads the events of GitHub Actions, and keeps to GitHub's limits.
//
// It is handed finished texts and knows nothing of what they tell.
package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Options says how to reach GitHub. API and Token are needed, the others have defaults.
type Options struct {
	// API is the address of the REST interface, as in GITHUB_API_URL: for
	// GitHub Enterprise Server https://HOST/api/v3. "" is https://api.github.com.
	API string
	// GraphQL is the address in GITHUB_GRAPHQL_URL; "" is derived from API.
	GraphQL string
	// Token is sent to the host of API and to no other, and is in no error or log.
	Token string
	// Repository is OWNER/NAME, as in GITHUB_REPOSITORY.
	Repository string
	// Author is the login that our comments are written under; "" asks GitHub.
	Author string
	// UserAgent tells GitHub who asks; "" is prdiff.
	UserAgent string

	// Now, Sleep and Jitter are the clock; nil is the real one. Sleep returns
	// early, with an error, when the context ends. Jitter gives a number in [0, 1).
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Jitter func() float64
	// Transport carries the requests; nil is http.DefaultTransport, which honours
	// HTTPS_PROXY and its kin.
	Transport http.RoundTripper
}

// A Client talks to one repository on GitHub. Safe for use by one goroutine.
type Client struct {
	rest        *gh.Client
	graphql     string
	owner, repo string
	author      string
	token       string
	wait        func(context.Context, time.Duration) error

	viewerAsked bool
	viewerLogin string
}

// New makes a client. It sends nothing yet.
func New(o Options) (*Client, error) {
	owner, repo, ok := strings.Cut(o.Repository, "/")
	if !ok || !isName(owner) || !isName(repo) {
		return nil, fmt.Errorf("the repository %q is not OWNER/NAME: GITHUB_REPOSITORY names it in Actions", o.Repository)
	}
	if o.API == "" {
		o.API = "https://api.github.com"
	}
	base, err := url.Parse(strings.TrimRight(o.API, "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil {
		return nil, fmt.Errorf("the API address %q is no https:// address: GITHUB_API_URL names it in Actions", o.API)
	}
	if o.GraphQL == "" {
		o.GraphQL = graphqlOf(base)
	}
	if o.UserAgent == "" {
		o.UserAgent = "prdiff"
	}
	t := &transport{
		next: o.Transport, host: base.Host, scheme: base.Scheme, token: o.Token,
		now: o.Now, sleep: o.Sleep, jitter: o.Jitter,
	}
	if t.next == nil {
		t.next = http.DefaultTransport
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.sleep == nil {
		t.sleep = sleep
	}
	if t.jitter == nil {
		t.jitter = rand.Float64
	}
	c := gh.NewClient(&http.Client{Transport: t, CheckRedirect: sameMethod})
	c.BaseURL, c.UserAgent = base, o.UserAgent
	return &Client{rest: c, graphql: o.GraphQL, owner: owner, repo: repo, author: o.Author, token: o.Token, wait: t.sleep}, nil
}

// isName says whether s can be the name of an owner or a repository, and thus a
// part of a path of the API.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 100 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// graphqlOf gives the address of GraphQL that goes with one of REST
// (https://docs.github.com/en/enterprise-server@latest/graphql/guides/forming-calls-with-graphql).
func graphqlOf(base *url.URL) string {
	u := *base
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v3") + "/graphql"
	return u.String()
}

// sameMethod follows a repository that was renamed or moved, as long as what is
// asked for stays the same: http.Client makes a GET of a POST that is answered 301.
func sameMethod(req *http.Request, via []*http.Request) error {
	if len(via) > 3 || req.Method != via[0].Method {
		return http.ErrUseLastResponse
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Refusal is why GitHub did not do what it was asked, by what can be done about it.
type Refusal int

// The refusals.
const (
	// Fault is a failure that may pass: limits, overload, a broken connection.
	Fault Refusal = iota
	// Forbidden is a right that the token does not have, as in the run of a fork.
	Forbidden
	// Closed is a place that takes nothing, whoever asks: a locked conversation,
	// a pull request that is gone, a feature that is switched off.
	Closed
	// TooLong is a text that GitHub finds too long.
	TooLong
)

// An Error is what GitHub answered instead of doing what it was asked.
type Error struct {
	What    string // what was tried, such as "create the comment"
	Refusal Refusal
	Status  int // of HTTP, 0 when there was no answer
	Message string
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return e.What + ": " + e.Message
	}
	return fmt.Sprintf("%s: GitHub answered %d: %s", e.What, e.Status, e.Message)
}

// refusalOf gives the refusal of an error of this package, Fault for any other.
func refusalOf(err error) Refusal {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Refusal
	}
	return Fault
}

func statusOf(err error) int {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// explain makes an Error of what go-github gave.
func (c *Client) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{What: what, Refusal: Fault}
	var answer *gh.ErrorResponse
	var limit *gh.RateLimitError
	var secondary *gh.AbuseRateLimitError
	var factor *gh.TwoFactorAuthError
	switch {
	case errors.As(err, &answer):
		e.Status, e.Message = answer.Response.StatusCode, messageOf(answer)
		e.Refusal = classify(answer.Response, e.Message)
	case errors.As(err, &limit):
		e.Status, e.Message = limit.Response.StatusCode, limit.Message
	case errors.As(err, &secondary):
		e.Status, e.Message = secondary.Response.StatusCode, secondary.Message
	case errors.As(err, &factor):
		e.Status, e.Message, e.Refusal = http.StatusUnauthorized, factor.Message, Fault
	default:
		e.Message = errorText(err)
	}
	e.Message = plain(c.hide(e.Message), 300)
	return e
}

// messageOf gives GitHub's own words, with those on single fields.
func messageOf(r *gh.ErrorResponse) string {
	words := []string{}
	if r.Message != "" {
		words = append(words, r.Message)
	}
	for _, e := range r.Errors {
		if e.Message != "" {
			words = append(words, e.Message)
		} else if e.Code != "" {
			words = append(words, strings.TrimSpace(e.Resource+" "+e.Field+" "+e.Code))
		}
	}
	if len(words) == 0 {
		return http.StatusText(r.Response.StatusCode)
	}
	return strings.Join(words, "; ")
}

// classify tells refusals apart by their status and, where GitHub uses one status
// for several, by their words.
func classify(r *http.Response, message string) Refusal {
	lower := strings.ToLower(message)
	switch r.StatusCode {
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		if strings.Contains(lower, "too long") || strings.Contains(lower, "too large") || r.StatusCode == http.StatusRequestEntityTooLarge {
			return TooLong
		}
	case http.StatusGone: // issues are disabled
		return Closed
	case http.StatusNotFound:
		return Closed
	case http.StatusForbidden:
		switch {
		case isLimit(r, message):
			return Fault
		case strings.Contains(lower, "locked"), strings.Contains(lower, "disabled"), strings.Contains(lower, "archived"),
			strings.Contains(lower, "not enabled"), strings.Contains(lower, "must be enabled"):
			return Closed
		}
		return Forbidden
	}
	return Fault
}

// errorText gives the innermost text of an error of the network, which names no
// address twice.
func errorText(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the run was ended"
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "the answer was cut off or is not JSON"
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// hide takes the token out of a text.
func (c *Client) hide(s string) string {
	if c.token == "" {
		return s
	}
	return strings.ReplaceAll(s, c.token, "***")
}
