package incidentlib

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// base reads the address that is asked.
func (c *Client) base() (*url.URL, error) {
	text := c.Base
	if text == "" {
		text = Address
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("incidentlib: the address: %w", err)
	}
	local := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		local = ip.IsLoopback()
	}
	switch {
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("incidentlib: %q is not an address such as %s", u.Redacted(), Address)
	case u.Scheme != "https" && !(u.Scheme == "http" && local):
		return nil, fmt.Errorf("incidentlib: %s must be https", u.Redacted())
	}
	return u, nil
}

var (
	errElsewhere = errors.New("the answer leads to another host, which is not asked")
	errOnAndOn   = errors.New("the answer leads on and on")
)

// client makes an HTTP client that stays with the host of base.
func (c *Client) client(base *url.URL) *http.Client {
	return &http.Client{
		Timeout: tryTimeout,
		Transport: &http.Transport{
			Proxy:                  c.Proxy,
			DialContext:            (&net.Dialer{Timeout: tryTimeout}).DialContext,
			TLSHandshakeTimeout:    tryTimeout,
			MaxResponseHeaderBytes: 32 << 10,
			MaxConnsPerHost:        atOnce,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != base.Scheme || r.URL.Host != base.Host {
				return errElsewhere
			}
			if len(via) > 2 {
				return errOnAndOn
			}
			return nil
		},
	}
}

// A statusError is an answer that holds nothing.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("the answer is %d %s", int(e), strings.ToLower(http.StatusText(int(e))))
}

// fetch gets a document, at the second try if need be. A case that is not there is
// errNone.
func fetch(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	data, again, err := try(ctx, client, address)
	if err == nil || !again {
		return data, err
	}
	pause := time.NewTimer(retryAfter)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return nil, err
	}
	data, _, err = try(ctx, client, address)
	return data, err
}

// try asks once, and says whether asking again may help: after a broken
// connection or a server's own fault, but not when it wants to be left alone.
func try(ctx context.Context, client *http.Client, address string) (data []byte, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, err
	}
	// The same for everybody: nothing tells who asks, or with which prdiff.
	r.Header.Set("User-Agent", "prdiff (https://github.com/prdiff/prdiff)")
	r.Header.Set("Accept", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return nil, !errors.Is(err, errElsewhere) && !errors.Is(err, errOnAndOn), err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return nil, false, errNone
	case res.StatusCode != http.StatusOK:
		return nil, res.StatusCode >= 500, statusError(res.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil, false, errors.New("the answer is not JSON")
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, MaxAnswer+1))
	if err != nil {
		return nil, true, err
	}
	if len(data) > MaxAnswer {
		return nil, false, fmt.Errorf("the answer is larger than %d bytes", MaxAnswer)
	}
	return data, false, nil
}
