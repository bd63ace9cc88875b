package main

import (
	"context"
	"net/url"
	"regexp"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
)

// A workplace is the working tree that the user stands in, or the folder where
// there is none, and its configuration.
type workplace struct {
	tree   *source.Tree
	config *config.Config // nil when there is none
}

// workplace opens where the user stands. The caller closes the tree.
func (e env) workplace(ctx context.Context) (workplace, error) {
	t, err := source.Open(ctx, e.dir, "", source.Options{Getenv: e.getenv})
	if err != nil {
		return workplace{}, err
	}
	c, err := readConfig(t)
	return workplace{t, c}, err
}

// own reads the rules and postmortems of where the user stands; there are none
// where no repository can be opened.
func (e env) own(ctx context.Context) (ownRules, error) {
	w, err := e.workplace(ctx)
	if w.tree == nil {
		return ownRules{}, nil
	}
	defer w.tree.Close()
	if err != nil {
		return ownRules{}, err
	}
	return readOwn(w.tree, w.config)
}

// library gives the incidents that prdiff knows and those of where the user stands.
func (e env) library(ctx context.Context) (*incident.Library, error) {
	own, err := e.own(ctx)
	if err != nil {
		return nil, err
	}
	return incident.Embedded().With(own.incidents...)
}

// width is that of the terminal in columns, 0 when stdout is none.
func (e env) width() int {
	width, _ := e.size()
	return width
}

var (
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	commitID       = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
)

// linkOwn gives a team's own postmortems the address of their file, where the
// environment says how the repository is called on GitHub.
func (e env) linkOwn(r *report.Report) {
	server, err := url.Parse(e.getenv("GITHUB_SERVER_URL"))
	repository, sha := e.getenv("GITHUB_REPOSITORY"), r.Head.SHA
	if sha == "" {
		sha = e.getenv("GITHUB_SHA")
	}
	if err != nil || server.Scheme != "https" || server.Host == "" || !repositoryName.MatchString(repository) || !commitID.MatchString(sha) {
		return
	}
	for i := range r.Incidents {
		if own := &r.Incidents[i]; own.File != "" && own.URL == "" {
			own.URL = server.JoinPath(repository, "blob", sha, own.File).String()
		}
	}
}
