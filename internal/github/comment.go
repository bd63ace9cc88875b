package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// CommentLimit is how many bytes a comment may have. GitHub's error speaks of
// 65,536 characters; more was accepted at times, and GitHub Enterprise Server may
// count otherwise. That many bytes satisfies every reading
// (https://github.com/dead-claudia/github-limits/issues/13).
const CommentLimit = 65536

// A Comment is what the one comment of a pull request is to say.
type Comment struct {
	Number int // of the pull request
	Marker Marker
	// Bodies are the text without its marker, at several lengths, longest first:
	// when GitHub finds one too long, the next is sent.
	Bodies []string
	// Worth says whether the text is worth a new comment. Without it, one that is
	// there is brought up to date, and none is made.
	Worth bool
}

// A CommentState is what became of the comment.
type CommentState string

// The states.
const (
	Created   CommentState = "created"
	Updated   CommentState = "updated"
	Same      CommentState = "unchanged"  // it says so already
	NotNeeded CommentState = "not needed" // there is none, and nothing to say
	Newer     CommentState = "left alone" // a newer run wrote it
)

// A CommentResult is where the comment is and what became of it.
type CommentResult struct {
	State   CommentState
	URL     string
	Removed int // duplicates that were deleted
	// Shorter is how many of the bodies were refused as too long.
	Shorter int
	// Warning is what did not work beside the comment, "" for nothing.
	Warning string
}

// Comment creates the comment, or edits the one that an earlier run made. Runs
// that race leave one: the oldest, with the newest text. An error is an *Error.
func (c *Client) Comment(ctx context.Context, w Comment) (CommentResult, error) {
	ours, err := c.findOurs(ctx, w)
	if err != nil {
		return CommentResult{}, err
	}
	for _, old := range ours {
		if written, _ := parseMarker(old.GetBody()); w.Marker.yields(written) {
			return CommentResult{State: Newer, URL: old.GetHTMLURL()}, nil
		}
	}
	var result CommentResult
	for _, old := range ours {
		result, err = c.edit(ctx, w, old)
		if err == nil {
			result.Removed, result.Warning = c.removeDuplicates(ctx, w, old, ours)
			return result, nil
		}
		if errors.Is(err, errNewer) {
			return CommentResult{State: Newer, URL: old.GetHTMLURL()}, nil
		}
		// Deleted in the meantime, or not ours after all.
		if status := statusOf(err); status != 404 && status != 403 || refusalOf(err) == Fault {
			return CommentResult{}, err
		}
	}
	if !w.Worth {
		return CommentResult{State: NotNeeded}, nil
	}
	return c.create(ctx, w)
}

// findOurs lists the comments of this key that we wrote, oldest first.
func (c *Client) findOurs(ctx context.Context, w Comment) ([]*gh.IssueComment, error) {
	var marked []*gh.IssueComment
	o := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	// GitHub allows 2,500 comments on an issue (https://github.com/dead-claudia/github-limits).
	for range 50 {
		page, resp, err := c.rest.Issues.ListComments(ctx, c.owner, c.repo, w.Number, o)
		if err != nil {
			return nil, c.explain("list the comments", err)
		}
		for _, comment := range page {
			if m, ok := parseMarker(comment.GetBody()); ok && m.Key == cleanKey(w.Marker.Key) {
				marked = append(marked, comment)
			}
		}
		if resp.NextPage <= o.Page {
			break
		}
		o.Page = resp.NextPage
	}
	if len(marked) == 0 {
		return nil, nil
	}
	login := c.viewer(ctx)
	ours := slices.DeleteFunc(marked, func(comment *gh.IssueComment) bool { return !writtenBy(login, comment.GetUser()) })
	slices.SortFunc(ours, func(a, b *gh.IssueComment) int {
		if a.GetID() < b.GetID() {
			return -1
		}
		return 1
	})
	return ours, nil
}

// writtenBy says whether a user is the one whose login we know. When it is not
// known, any bot may be us, and no person is: a person can write what they like
// behind our marker.
func writtenBy(login string, u *gh.User) bool {
	if login == "" {
		return u.GetType() == "Bot"
	}
	// GraphQL gives some bots' logins without the ending that REST gives them.
	return strings.EqualFold(u.GetLogin(), login) || u.GetType() == "Bot" && strings.EqualFold(u.GetLogin(), login+"[bot]")
}

// viewer gives the login that the token writes under, "" when GitHub does not
// tell. REST's GET /user is closed to the tokens of Actions and of Apps; GraphQL
// tells all of them.
func (c *Client) viewer(ctx context.Context) string {
	switch {
	case c.author != "":
		return c.author
	case c.viewerAsked:
		return c.viewerLogin
	}
	c.viewerAsked = true
	req, err := c.rest.NewRequest("POST", c.graphql, map[string]string{"query": "query { viewer { login } }"})
	if err != nil {
		return ""
	}
	var answer struct {
		Data struct {
			Viewer struct{ Login string }
		}
	}
	if _, err := c.rest.Do(ctx, req, &answer); err != nil {
		return ""
	}
	c.viewerLogin = answer.Data.Viewer.Login
	return c.viewerLogin
}

// errNewer ends an edit that waited so long that a newer run came first.
var errNewer = errors.New("a newer run wrote the comment meanwhile")

// edit gives an existing comment its new text.
func (c *Client) edit(ctx context.Context, w Comment, old *gh.IssueComment) (CommentResult, error) {
	ctx = context.WithValue(ctx, recheck{}, func(ctx context.Context) error {
		now, _, err := c.rest.Issues.GetComment(ctx, c.owner, c.repo, old.GetID())
		if err != nil {
			return nil // the edit itself will tell
		}
		if written, _ := parseMarker(now.GetBody()); w.Marker.yields(written) {
			return errNewer
		}
		return nil
	})
	for i, body := range w.bodies() {
		if sameText(old.GetBody(), body) {
			return CommentResult{State: Same, URL: old.GetHTMLURL(), Shorter: i}, nil
		}
		edited, _, err := c.rest.Issues.EditComment(ctx, c.owner, c.repo, old.GetID(), &gh.IssueComment{Body: &body})
		if err == nil {
			return CommentResult{State: Updated, URL: edited.GetHTMLURL(), Shorter: i}, nil
		}
		if errors.Is(err, errNewer) {
			return CommentResult{}, errNewer
		}
		if err := c.explain("edit the comment", err); refusalOf(err) != TooLong || i == len(w.Bodies)-1 {
			return CommentResult{}, err
		}
	}
	return CommentResult{}, &Error{What: "edit the comment", Refusal: TooLong, Message: "there is no text"}
}

// sameText says whether a comment has this text already: editing it would only
// cost a request and mark it as edited. The marker counts, as it keeps older runs
// from overwriting what this one found to be still so.
func sameText(have, want string) bool {
	have = strings.ReplaceAll(have, "\r\n", "\n")
	return strings.TrimRight(have, " \n") == strings.TrimRight(want, " \n")
}

// bodies gives the texts with their marker.
func (w Comment) bodies() []string {
	out := make([]string, len(w.Bodies))
	for i, body := range w.Bodies {
		out[i] = w.Marker.String() + "\n" + body
	}
	return out
}

// create makes the comment. When the connection breaks, GitHub may have made it:
// it is looked for before it is made again.
func (c *Client) create(ctx context.Context, w Comment) (CommentResult, error) {
	bodies := w.bodies()
	if len(bodies) == 0 {
		return CommentResult{}, &Error{What: "create the comment", Refusal: TooLong, Message: "there is no text"}
	}
	var lastErr error
	shorter := 0
	for attempt := range attempts {
		made, _, err := c.rest.Issues.CreateComment(context.WithValue(ctx, once{}, true), c.owner, c.repo, w.Number,
			&gh.IssueComment{Body: &bodies[shorter]})
		if err == nil {
			return c.settle(ctx, w, made, shorter)
		}
		lastErr = c.explain("create the comment", err)
		switch status := statusOf(lastErr); {
		case refusalOf(lastErr) == TooLong && shorter < len(bodies)-1:
			shorter++
			continue
		case refusalOf(lastErr) != Fault || status >= 400 && status < 500:
			return CommentResult{}, lastErr
		}
		if err := c.wait(ctx, firstWait<<attempt); err != nil {
			return CommentResult{}, lastErr
		}
		ours, err := c.findOurs(ctx, w)
		if err != nil {
			return CommentResult{}, lastErr
		}
		for _, old := range ours {
			if written, _ := parseMarker(old.GetBody()); written == w.Marker.cleaned() {
				return c.settle(ctx, w, old, shorter)
			}
		}
	}
	return CommentResult{}, lastErr
}

// cleaned gives the marker as parseMarker reads it back.
func (m Marker) cleaned() Marker {
	back, _ := parseMarker(m.String())
	return back
}

// settle looks again after a comment was made: of two runs that found none, both
// made one. All runs agree that the oldest comment stays, and that it is the
// newest run that gives it its text and deletes the others; so nobody deletes
// what another one has just chosen.
func (c *Client) settle(ctx context.Context, w Comment, made *gh.IssueComment, shorter int) (CommentResult, error) {
	result := CommentResult{State: Created, URL: made.GetHTMLURL(), Shorter: shorter}
	ours, err := c.findOurs(ctx, w)
	if err != nil {
		result.Warning = err.Error()
		return result, nil
	}
	// When GitHub does not tell who we are, the comment itself does.
	ours = slices.DeleteFunc(ours, func(o *gh.IssueComment) bool { return o.GetUser().GetID() != made.GetUser().GetID() })
	if len(ours) < 2 {
		return result, nil
	}
	keep := ours[0]
	for _, o := range ours {
		if written, _ := parseMarker(o.GetBody()); o.GetID() != made.GetID() && w.Marker.yields(written) {
			// A newer run made one too. If ours is the oldest, that run edits it;
			// otherwise it is one too many.
			result = CommentResult{State: Newer, URL: keep.GetHTMLURL()}
			if keep.GetID() != made.GetID() {
				if err := c.delete(ctx, made.GetID()); err != nil {
					result.Warning = err.Error()
				}
			}
			return result, nil
		}
	}
	if keep.GetID() != made.GetID() {
		edited, err := c.edit(ctx, w, keep)
		if err != nil {
			result.Warning = err.Error()
			return result, nil // the one that we made stays
		}
		result.URL = edited.URL
	}
	result.Removed, result.Warning = c.removeDuplicates(ctx, w, keep, ours)
	return result, nil
}

// removeDuplicates deletes the comments of ours beside the one that is kept. It
// never touches one of another author, or one that a newer run wrote.
func (c *Client) removeDuplicates(ctx context.Context, w Comment, keep *gh.IssueComment, ours []*gh.IssueComment) (removed int, warning string) {
	for _, o := range ours {
		written, _ := parseMarker(o.GetBody())
		if o.GetID() == keep.GetID() || o.GetUser().GetID() != keep.GetUser().GetID() || w.Marker.yields(written) {
			continue
		}
		if err := c.delete(ctx, o.GetID()); err != nil {
			warning = err.Error()
			continue
		}
		removed++
	}
	return removed, warning
}

// delete deletes a comment; one that is gone already is no error.
func (c *Client) delete(ctx context.Context, id int64) error {
	_, err := c.rest.Issues.DeleteComment(ctx, c.owner, c.repo, id)
	if err = c.explain("delete a duplicate of the comment", err); statusOf(err) == 404 {
		return nil
	}
	return err
}

// String gives the result in words, for the log.
func (r CommentResult) String() string {
	s := "comment " + string(r.State)
	if r.URL != "" {
		s += ": " + plain(r.URL, 300)
	}
	if r.State == Newer {
		s += " (a newer run wrote it)"
	}
	if r.Removed > 0 {
		s += fmt.Sprintf(" (%d duplicates of it removed)", r.Removed)
	}
	if r.Shorter > 0 {
		s += " (GitHub found it too long: it is a shorter one)"
	}
	return s
}
