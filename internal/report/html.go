package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// HTML writes the report as one page that needs nothing else: no network, no
// files beside it. Its policy lets no other script or style run than its own two.
// What a report tells first (the verdict, what could not be looked at, the
// figures) is in the page as it is; findings and changes are data that the script
// draws as they come into view, so that thousands of them open at once.
func HTML(w io.Writer, r *Report, o Options) error {
	data, dropped := pageDataOf(r)
	text, err := json.Marshal(data) // escapes <, > and &: it cannot end its element
	if err != nil {
		return err
	}
	view := pageView{
		Policy:     fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", hashSource(pageCSS), hashSource(pageJS)),
		Style:      template.CSS(pageCSS),
		Script:     template.JS(pageJS),
		Data:       template.JS(text),
		Verdicts:   pageVerdicts(r),
		Sides:      sides(r, inert),
		Accounting: accounting(r),
		Failed:     pageReasons(r, Failed),
		Skipped:    pageReasons(r, Skipped),
		SkippedN:   r.Count(Skipped),
		Notes:      pageNotes(r),
		Tables:     pageTables(r),
		Findings:   len(data.Findings),
		Changes:    len(data.Changes),
		Titles:     pageTitles(r),
		Silenced:   pageSilenced(r),
		Silencers:  pageSilencers(r),
		Reasons:    pageFilterReasons(r),
		Off:        offWords(r, inert),
		Hidden:     hiddenWords(r),
		Statuses:   statuses(r),
		Version:    inert(r.Version),
		Time:       timeWords(r, o),
	}
	if dropped > 0 {
		view.Dropped = plural(dropped, "diff") + " left out for want of room; prdiff --format json has everything"
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, view); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func pageTemplate() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
}

// hashSource names a script or style in a Content-Security-Policy by its hash.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A pageView is what the template of the page is given. Its texts are inert.
type pageView struct {
	Policy            string
	Style             template.CSS
	Script, Data      template.JS
	Verdicts          []pageVerdict
	Sides, Accounting string
	Failed, Skipped   []pageReason
	SkippedN          int
	Notes             []string
	Tables            []pageTable
	Findings, Changes int
	Titles            []string // of the findings, for those who run no scripts
	Silenced          []string
	Silencers         []string // suppressions to look at
	Hidden, Statuses  string
	Reasons           []string // of filters of the users' own
	Off               string   // rules that are switched off
	Dropped           string
	Version, Time     string
}

type pageVerdict struct{ Icon, Level, Words string }

type pageReason struct {
	Units string
	Lines []string
}

type pageTable struct {
	Title string
	Head  []pageCell
	Rows  [][]pageCell
	Left  string
}

type pageCell struct {
	Text         string
	Code, Number bool
}

func pageVerdicts(r *Report) []pageVerdict {
	var out []pageVerdict
	for _, v := range verdicts(r) {
		out = append(out, pageVerdict{v.icon, v.level, v.words})
	}
	return out
}

func pageReasons(r *Report, s Status) []pageReason {
	const most = 200
	var out []pageReason
	list := reasons(r, s)
	for i, why := range list {
		if i == most {
			out = append(out, pageReason{Units: fmt.Sprintf("and %d more reasons", len(list)-most)})
			break
		}
		shown := names(why.units)
		left := max(0, len(shown)-12)
		shown = shown[:len(shown)-left]
		for j, n := range shown {
			shown[j] = inert(n)
		}
		units := strings.Join(shown, ", ")
		if left > 0 {
			units += fmt.Sprintf(" and %d more", left)
		}
		out = append(out, pageReason{units, inertLines(cut(why.text, 4000))})
	}
	return out
}

func pageNotes(r *Report) []string {
	const most = 200
	var out []string
	for _, u := range r.Units {
		for _, n := range u.Notes {
			out = append(out, inert(u.Name)+": "+inert(cut(n, 1000)))
		}
	}
	if len(out) > most {
		out = append(out[:most:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}

func pageTables(r *Report) []pageTable {
	var out []pageTable
	for _, t := range tables(r) {
		shown := pageTable{Title: capital(inert(t.title))}
		for i, h := range t.head {
			shown.Head = append(shown.Head, pageCell{Text: h, Number: i >= t.leftColumns()})
		}
		for _, row := range t.rows {
			var cells []pageCell
			for i, c := range row {
				cells = append(cells, pageCell{inert(cut(c.text, 300)), c.code, i >= t.leftColumns()})
			}
			shown.Rows = append(shown.Rows, cells)
		}
		if t.left > 0 {
			shown.Left = "and " + plural(t.left, "row") + " more"
		}
		out = append(out, shown)
	}
	return out
}

func pageTitles(r *Report) []string {
	const most = 200
	var out []string
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			continue
		}
		if len(out) == most {
			out = append(out, "and more")
			break
		}
		out = append(out, capital(f.Severity.String())+": "+inert(cut(f.Ref.String()+": "+f.Message, 600)))
	}
	return out
}

func pageSilenced(r *Report) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			out = append(out, inert(cut(f.Rule+" "+f.Ref.String()+": "+silencedBy(f), 600)))
		}
	}
	return slices.Clip(out)
}

func pageSilencers(r *Report) []string {
	var out []string
	for _, line := range silencerWords(r) {
		out = append(out, inert(cut(line, 600)))
	}
	return out
}

func pageFilterReasons(r *Report) []string {
	var out []string
	for _, h := range r.Hidden {
		if h.Reason != "" {
			out = append(out, inert(cut(h.Filter+": "+h.Reason, 600)))
		}
	}
	return out
}
