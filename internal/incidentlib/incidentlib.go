// Package incidentlib asks incidentlib, a public library of incident reports, for
// its cases and for those most like them. It is a guest in a report: what it
// cannot have in time is left out, nothing but case numbers is sent, and every
// text that comes back is cut, cleaned and never a link.
package incidentlib

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Address is where incidentlib answers. It wants no key.
const Address = "https://incidentlib-api.benchlet.com"

// How long it may take. A caller waits for Budget and Grace at most, whatever
// the network, the server and the disk do: less than two seconds.
const (
	Budget     = 1500 * time.Millisecond // for all answers together
	Grace      = 300 * time.Millisecond  // beyond that, for what is on disk
	tryTimeout = 700 * time.Millisecond  // for one request, its body included
	retryAfter = 100 * time.Millisecond  // between the two tries of a request
	atOnce     = 4                       // requests under way
)

// MaxCases is how many cases are asked for in one run, the first ones given.
const MaxCases = 8

// MaxAnswer is the size in bytes of the largest answer that is read, unpacked. A
// case with its whole text is about 10,000.
const MaxAnswer = 256 << 10

// MaxSimilar is how many cases like another are kept.
const MaxSimilar = 5

// A Case is what incidentlib says of an incident. Its texts are single lines
// without control characters, of at most 300 characters; any but ID may be "".
type Case struct {
	ID      string    `json:"id"`
	Org     string    `json:"org,omitempty"`
	Date    string    `json:"date,omitempty"` // YYYY, YYYY-MM or YYYY-MM-DD
	Title   string    `json:"title,omitempty"`
	Lesson  string    `json:"lesson,omitempty"`
	Similar []Similar `json:"similar,omitempty"` // the closest first, MaxSimilar at most
}

// Similar is a case that is like another. ID and Title are never "".
type Similar struct {
	ID     string `json:"id"`
	Org    string `json:"org,omitempty"`
	Date   string `json:"date,omitempty"`
	Title  string `json:"title"`
	Reason string `json:"reason,omitempty"` // such as "same root cause, shared Cilium"
}

// A Client asks incidentlib. The zero value asks at Address, directly, and
// remembers nothing. It may be used from several goroutines.
type Client struct {
	Base   string                                // an address to use instead; plain http only on this machine
	Proxy  func(*http.Request) (*url.URL, error) // nil for none
	Cache  *Cache                                // nil for none
	Now    func() time.Time                      // for the cache; nil means time.Now
	Budget time.Duration                         // 0 means Budget
}

// Valid says whether id is the number of a case, such as IL-0461: six digits at
// most. Nothing else is ever part of a request.
func Valid(id string) bool {
	number, ok := strings.CutPrefix(id, "IL-")
	return ok && number != "" && len(number) <= 6 && strings.Trim(number, "0123456789") == ""
}

// errNone is a case that incidentlib does not have.
var errNone = errors.New("no such case")

// Cases gives the cases with these ids, by id, as far as they could be had. It
// returns in time (see Budget and Grace), and what it returns can be used
// whatever the error says, which is for those who want to know why something is
// missing.
func (c *Client) Cases(ctx context.Context, ids []string) (map[string]Case, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !Valid(id) })
	ids = ids[:min(len(ids), MaxCases)]
	if len(ids) == 0 {
		return nil, nil
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	budget := c.Budget
	if budget <= 0 {
		budget = Budget
	}
	type result struct {
		cases map[string]Case
		err   error
	}
	out := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, budget)
		defer cancel()
		cases, err := c.cases(ctx, base, ids)
		out <- result{cases, err}
	}()
	limit := time.NewTimer(budget + Grace)
	defer limit.Stop()
	select {
	case r := <-out:
		return r.cases, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-limit.C: // a name server or a disk that does not listen to contexts
		return nil, errors.New("incidentlib: no answer in time")
	}
}

// cases is Cases with a context that ends.
func (c *Client) cases(ctx context.Context, base *url.URL, ids []string) (map[string]Case, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	at := now()
	found := map[string]Case{}
	var missing []string
	for _, id := range ids {
		if k, ok := c.Cache.get(base.String(), id, at); !ok {
			missing = append(missing, id)
		} else if k.Title != "" || len(k.Similar) > 0 {
			found[id] = k
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	if c.Cache.failed(base.String(), at) {
		return found, errors.New("incidentlib: it did not answer a moment ago, and is not asked again yet")
	}
	asked, err := c.ask(ctx, base, missing)
	none := err != nil && len(asked) == 0 && !errors.Is(ctx.Err(), context.Canceled)
	c.Cache.put(base.String(), at, asked, none)
	maps.DeleteFunc(asked, func(_ string, a answer) bool { return a.Title == "" && len(a.Similar) == 0 })
	for id, a := range asked {
		found[id] = a.Case
	}
	return found, err
}

// An answer is a case as far as it was had.
type answer struct {
	Case
	whole bool // both parts were answered, if only by saying that there is no such case
}

// ask asks for cases at the same time. Those of which nothing was answered are
// left out.
func (c *Client) ask(ctx context.Context, base *url.URL, ids []string) (map[string]answer, error) {
	client := c.client(base)
	defer client.CloseIdleConnections()
	type part struct {
		id  string
		set func(*Case)
		err error
	}
	// Whoever comes after the end of ctx finds room here and goes.
	parts := make(chan part, 2*len(ids))
	slots := make(chan struct{}, atOnce)
	get := func(id, path string, read func([]byte) (func(*Case), error)) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			parts <- part{id: id, err: ctx.Err()}
			return
		}
		data, err := fetch(ctx, client, base.JoinPath("cases", id, path).String())
		if errors.Is(err, errNone) {
			parts <- part{id: id, set: func(*Case) {}}
			return
		}
		var set func(*Case)
		if err == nil {
			set, err = read(data)
		}
		parts <- part{id: id, set: set, err: err}
	}
	for _, id := range ids {
		go get(id, "", func(data []byte) (func(*Case), error) {
			k, err := readCase(id, data)
			return func(to *Case) { to.Org, to.Date, to.Title, to.Lesson = k.Org, k.Date, k.Title, k.Lesson }, err
		})
		go get(id, "similar", func(data []byte) (func(*Case), error) {
			list, err := readSimilar(id, data)
			return func(to *Case) { to.Similar = list }, err
		})
	}
	out := map[string]answer{}
	had := map[string]int{}
	errs := map[string]error{}
	for range 2 * len(ids) {
		select {
		case p := <-parts:
			if p.err != nil {
				errs[p.id] = errors.Join(errs[p.id], fmt.Errorf("incidentlib: %s: %w", p.id, p.err))
				continue
			}
			had[p.id]++
			a := out[p.id]
			a.ID = p.id
			p.set(&a.Case)
			a.whole = had[p.id] == 2
			out[p.id] = a
		case <-ctx.Done():
			return out, fmt.Errorf("incidentlib: %w", ctx.Err())
		}
	}
	var all []error
	for _, id := range ids {
		all = append(all, errs[id])
	}
	return out, errors.Join(all...)
}
