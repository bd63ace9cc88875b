package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/incidentlib"
	"github.com/prdiff/prdiff/internal/report"
)

// incidentlibVariable names an address to use instead of incidentlib's own, such as
// a mirror in a network that reaches nothing else.
const incidentlibVariable = "PRDIFF_INCIDENTLIB"

// online gives the function that asks incidentlib about the incidents of a report.
// With tell, what could not be had is said on stderr; the report is the same then
// as one without network.
func (e env) online(work workFlags, tell bool) func(context.Context, *report.Report) {
	return func(ctx context.Context, rep *report.Report) {
		client := incidentlib.Client{Base: e.getenv(incidentlibVariable), Proxy: e.proxy(), Now: e.now}
		if dir := work.cacheDir(e); dir != "" {
			client.Cache = incidentlib.NewCache(filepath.Join(dir, "incidentlib"))
		}
		found, err := client.Cases(ctx, caseIDs(rep.Incidents))
		if err != nil && tell {
			for line := range strings.Lines(err.Error()) {
				fmt.Fprintf(e.stderr, "prdiff: %s\n", printable(strings.TrimSuffix(line, "\n")))
			}
		}
		rep.Cases = casesOf(rep.Incidents, found)
	}
}

// caseIDs gives the case numbers of public incidents. A team's own postmortems are
// nobody's business, whatever stands in them.
func caseIDs(incidents []incident.Incident) []string {
	var ids []string
	for _, i := range incidents {
		if i.IncidentLib != "" && !i.Own() {
			ids = append(ids, i.IncidentLib)
		}
	}
	return ids
}

// casesOf says what incidentlib tells of each incident. Similar cases that the
// report cites anyway are left out.
func casesOf(incidents []incident.Incident, found map[string]incidentlib.Case) []report.Case {
	known := caseIDs(incidents)
	var out []report.Case
	for _, i := range incidents {
		c, ok := found[i.IncidentLib]
		if !ok || i.Own() {
			continue
		}
		shown := report.Case{Incident: i.ID, ID: c.ID, Org: c.Org, Date: c.Date, Title: c.Title, Lesson: c.Lesson, Similar: []report.Similar{}}
		for _, s := range c.Similar {
			if !slices.Contains(known, s.ID) {
				shown.Similar = append(shown.Similar, report.Similar(s))
			}
		}
		out = append(out, shown)
	}
	slices.SortFunc(out, func(a, b report.Case) int { return strings.Compare(a.Incident, b.Incident) })
	return out
}

// proxy gives the proxy that the environment names.
func (e env) proxy() func(*http.Request) (*url.URL, error) {
	get := func(name string) string {
		if v := e.getenv(name); v != "" {
			return v
		}
		return e.getenv(strings.ToLower(name))
	}
	choose := (&httpproxy.Config{HTTPProxy: get("HTTP_PROXY"), HTTPSProxy: get("HTTPS_PROXY"), NoProxy: get("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}
