package config

import (
	"strings"
	"testing"
)

func TestOnline(t *testing.T) {
	on, off := &Config{Online: true, HelmFetch: true}, &Config{}
	for _, tt := range []struct {
		name  string
		scope Scope
		want  bool
	}{
		{"nobody says anything", Scope{}, false},
		{"it is on", Scope{Base: on, Head: on}, true},
		{"a pull request cannot switch it on", Scope{Base: off, Head: on}, false},
		{"a pull request that brings the file cannot either", Scope{Base: nil, Head: on}, false},
		{"switching it off counts once it is merged", Scope{Base: on, Head: off}, true},
		{"a file given by hand counts alone", Scope{Base: off, Head: off, Forced: on}, true},
		{"also when it says nothing of it", Scope{Base: on, Head: on, Forced: off}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.scope.Online(); got != tt.want {
				t.Errorf("Online() = %v, want %v", got, tt.want)
			}
			if got := tt.scope.FetchesCharts(); got != tt.want {
				t.Errorf("FetchesCharts() = %v, want %v", got, tt.want)
			}
		})
	}
	for text, want := range map[string]bool{"incidents: {online: true}": true, "incidents: {online: false}": false, "incidents: {paths: [docs]}": false} {
		c, err := Parse("f", []byte(text), known)
		if err != nil || c.Online != want {
			t.Errorf("Parse(%s) = %+v, %v; want Online %v", text, c, err, want)
		}
	}
	if c, err := Parse("f", []byte("helm: {fetch: true}"), known); err != nil || !c.HelmFetch {
		t.Errorf("helm.fetch is not read: %+v, %v", c, err)
	}
	if _, err := Parse("f", []byte("incidents: {online: perhaps}"), known); err == nil || !strings.Contains(err.Error(), "f:1: incidents.online must be true or false") {
		t.Errorf("the error of a word is %v", err)
	}
}
