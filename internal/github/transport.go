package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// How often and how long a request is tried. GitHub asks to wait for as long as
// Retry-After says, else until the limit is reset, else for a minute
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately);
// when that is longer than a job should stand still, another place takes the report.
const (
	attempts       = 5
	attemptTimeout = 30 * time.Second
	firstWait      = 500 * time.Millisecond
	longestWait    = 60 * time.Second
	unnamedLimit   = 15 * time.Second // for a limit that does not say when it ends
	maxAnswer      = 32 << 20         // bytes of one answer; a page of 100 comments of 256 KiB is below
)

// A transport sends requests until they are answered, within bounds. It stands
// below go-github, whose own handling of limits knows no 429 and refuses later
// calls by the real clock.
type transport struct {
	next         http.RoundTripper
	scheme, host string
	token        string
	now          func() time.Time
	sleep        func(context.Context, time.Duration) error
	jitter       func() float64

	blockedUntil time.Time // GitHub said to ask for nothing before
}

// once marks a context whose request must not be repeated after a failure that
// leaves open whether it was carried out, such as creating a comment.
type once struct{}

// recheck is the key of a func(context.Context) error in a context. It is called
// before a request is repeated, and an error of its ends the attempts: the world
// may have moved on while we waited.
type recheck struct{}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if wait := t.blockedUntil.Sub(t.now()); wait > 0 {
		return nil, &limitError{wait}
	}
	ctx := req.Context()
	wait := firstWait
	for attempt := 1; ; attempt++ {
		resp, err := t.try(req)
		pause, again := t.verdict(ctx, req, resp, err, wait)
		if pause > longestWait {
			t.blockedUntil = t.now().Add(pause)
			return nil, &limitError{pause}
		}
		if !again || attempt == attempts || ctx.Err() != nil {
			return resp, err
		}
		if err := t.sleep(ctx, pause); err != nil {
			return nil, err
		}
		if check, ok := ctx.Value(recheck{}).(func(context.Context) error); ok {
			if err := check(context.WithValue(ctx, recheck{}, nil)); err != nil {
				return nil, err
			}
		}
		wait *= 2
	}
}

// A limitError is a limit that ends too late to wait for it.
type limitError struct{ wait time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("GitHub asks to wait for %s, which is too long", e.wait.Round(time.Second))
}

// try sends the request once and reads the whole answer: a connection that is cut
// in the middle of it is a failure of this attempt.
func (t *transport) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), attemptTimeout, errNoAnswer)
	defer cancel()
	r := req.Clone(ctx)
	if req.Body != nil && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	// A redirect to another host must not carry the token there.
	r.Header.Del("Authorization")
	if t.token != "" && r.URL.Host == t.host && r.URL.Scheme == t.scheme {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		if req.Context().Err() == nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	if err != nil {
		if req.Context().Err() == nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the answer was cut off: %w", err)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Request = req
	return resp, nil
}

var errNoAnswer = fmt.Errorf("no answer within %s", attemptTimeout)

// verdict says whether to try again, and after how long. Limits refuse a request
// before it is carried out, so that any request may be repeated after them.
func (t *transport) verdict(ctx context.Context, req *http.Request, resp *http.Response, err error, wait time.Duration) (time.Duration, bool) {
	// Half of the wait is random, so that many jobs do not come back together.
	pause := wait/2 + time.Duration(t.jitter()*float64(wait/2))
	repeatable := ctx.Value(once{}) == nil
	if err != nil {
		return pause, repeatable && !errors.Is(err, context.Canceled)
	}
	body, _ := io.ReadAll(resp.Body) // in memory: try read it
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var told struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &told) // an answer that is not JSON says nothing about limits
	limited := isLimit(resp, told.Message)
	asked, has := t.asked(resp)
	// go-github would refuse later calls for these, by the real clock.
	for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		resp.Header.Del(name)
	}
	switch {
	case limited && has:
		return asked + pause, true
	case limited:
		return unnamedLimit + pause, true
	case resp.StatusCode == http.StatusServiceUnavailable && has:
		return asked + pause, repeatable
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		return pause, repeatable
	}
	return 0, false
}

// asked gives how long GitHub wants us to wait.
func (t *transport) asked(resp *http.Response) (time.Duration, bool) {
	if v := resp.Header.Get("Retry-After"); v != "" {
		if seconds, err := strconv.ParseInt(v, 10, 32); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second, true
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(t.now())), true
		}
	}
	if resp.Header.Get("X-RateLimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil && at > 0 {
			return max(0, time.Unix(at, 0).Sub(t.now())), true
		}
	}
	return 0, false
}

// isLimit says whether an answer is about a rate limit: any 429, and a 403 that
// says so in its headers or its words
// (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api).
func isLimit(r *http.Response, message string) bool {
	switch r.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		lower := strings.ToLower(message)
		return r.Header.Get("Retry-After") != "" || r.Header.Get("X-RateLimit-Remaining") == "0" ||
			strings.Contains(lower, "rate limit") || strings.Contains(lower, "abuse detection")
	}
	return false
}
