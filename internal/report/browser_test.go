//go:build browser

package report

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// The page in a browser:
//
//	go test -tags browser ./internal/report -run Browser -chromium chromium [-axe axe.min.js]
//
// It needs Chromium, and for the checks of accessibility axe-core's one file.
var (
	chromium = flag.String("chromium", "chromium", "the browser to run")
	axe      = flag.String("axe", "", "the file of axe-core")
)

// A browser is a Chromium that is spoken to over a pipe, in its DevTools protocol.
type browser struct {
	t       testing.TB
	in      *os.File
	out     *bufio.Reader
	id      int
	session string
	trouble []string // what its pages complained about
}

func startBrowser(t testing.TB) *browser {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(*chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--remote-debugging-pipe", "--window-size=1200,900", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		in.Close()
		cmd.Wait()
	})
	return b
}

// call asks the browser for something and waits for its answer.
func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.id++
	message := map[string]any{"id": b.id, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") && !strings.HasPrefix(method, "Target.") {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(data, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		line, err := b.out.ReadBytes(0)
		if err != nil {
			if method == "Browser.close" {
				return nil
			}
			b.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		switch answer.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded":
			b.trouble = append(b.trouble, string(answer.Params))
		}
		if answer.ID != b.id {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error.Message)
		}
		return answer.Result
	}
}

// open writes a page to a file and opens it.
func (b *browser) open(r *Report, hash string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := HTML(f, r, Options{}); err != nil {
		b.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.t.Fatal(err)
	}
	var target struct{ TargetID, SessionID string }
	b.session = ""
	json.Unmarshal(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	json.Unmarshal(b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &target)
	b.session, b.trouble = target.SessionID, nil
	b.call("Runtime.enable", nil)
	b.call("Log.enable", nil)
	b.call("Page.enable", nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + path + hash})
	b.until("the page is there", `document.readyState === 'complete' && document.getElementById('data') !== null`)
}

// eval runs a script in the page and gives its value as text.
func (b *browser) eval(script string) string {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	params := map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}
	if err := json.Unmarshal(b.call("Runtime.evaluate", params), &answer); err != nil {
		b.t.Fatal(err)
	}
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, answer.ExceptionDetails)
	}
	return fmt.Sprint(answer.Result.Value)
}

// until waits for a condition, as long as a loaded machine may need.
func (b *browser) until(what, condition string) {
	b.t.Helper()
	for range 200 {
		if b.eval(condition) == "true" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("%s: %s never came true", what, condition)
}

func (b *browser) press(key string) {
	b.eval(fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true}))`, key))
}

func (b *browser) set(id, value, event string) {
	b.eval(fmt.Sprintf(`{const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event(%q, {bubbles: true}))}`, id, value, event))
}

const (
	changesShown  = `document.querySelectorAll('#changes > details').length`
	findingsShown = `document.querySelectorAll('#findings > article').length`
)

// calm checks that the page has complained about nothing, and is accessible.
func (b *browser) calm() {
	b.t.Helper()
	for _, x := range b.trouble {
		b.t.Errorf("the page complains: %s", x)
	}
	if *axe == "" {
		return
	}
	source, err := os.ReadFile(*axe)
	if err != nil {
		b.t.Fatal(err)
	}
	b.eval(string(source) + "; true")
	got := b.eval(`axe.run().then(r => r.violations.map(v => v.impact + ' ' + v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')).join('\n'))`)
	if got != "" {
		b.t.Errorf("axe finds:\n%s", got)
	}
}

func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	want := func(what, script, want string) {
		t.Helper()
		if got := b.eval(script); got != want {
			t.Errorf("%s = %s, want %s", what, got, want)
		}
	}

	b.open(sample(t), "")
	want("findings", findingsShown, "2")
	want("changes", changesShown, "5")

	// Filters and search.
	b.set("q", "querier", "input")
	b.until("the search", changesShown+` === 1 && `+findingsShown+` === 0`)
	b.set("q", "", "input")
	b.set("kind", "Service", "change")
	want("changes of Services", changesShown, "1")
	b.set("kind", "", "change")
	b.set("severity", "error", "change")
	want("errors", findingsShown, "1")
	want("changes with errors", changesShown, "1")
	b.set("severity", "", "change")
	b.set("rule", "secret-changed", "change")
	want("findings of one rule", findingsShown, "1")
	b.set("rule", "", "change")
	b.set("unit", "cell-8", "input")
	b.until("the unit", changesShown+` === 3`)
	b.eval(`document.getElementById('clear').click()`)
	want("changes once filters are cleared", changesShown, "5")

	// What is hidden.
	b.press("h")
	want("changes with what is hidden", changesShown, "6")
	b.press("h")

	// The slider over a rollout.
	const slider = `document.querySelector('.rollout input')`
	slide := func(n int) {
		b.eval(fmt.Sprintf(`{const e = %s; e.value = %d; e.dispatchEvent(new Event('input', {bubbles: true}))}`, slider, n))
	}
	const told, hot = `document.querySelector('.rollout output').textContent`, `document.querySelectorAll('.rollout .hot').length`
	slide(0)
	want("the moment before", told, "Before the merge: 140 from before and 0 new pods ready. 140 of the 140 pods answer, each takes its share.")
	slide(1)
	want("the merge", told, "At the merge: 140 from before and 0 new pods ready. No pod answers: every request fails.")
	slide(3)
	want("the first wave", told, "Step 3 of 5: 139 from before and 16 new pods ready. 16 of the 155 pods answer, each takes 8.75 times its share.")
	want("pods that bear too much", hot, "16")

	// Keys.
	b.press("j")
	b.press("j")
	b.press("j")
	want("the third item", `document.querySelector('.current').tagName + ' ' + document.querySelectorAll('.current').length`, "DETAILS 1")
	b.press("o")
	b.until("it opens", `document.querySelector('.current').open && document.querySelector('.current .diff') !== null`)
	b.press("k")
	want("the second item", `document.querySelector('.current').className.includes('warning')`, "true")
	b.press("/")
	want("the search has the focus", `document.activeElement.id`, "q")
	b.press("Escape")
	b.press("?")
	want("the list of keys", `document.getElementById('help').open`, "true")
	b.eval(`document.getElementById('help').close()`)

	// Side by side, word by word.
	b.eval(`[...document.querySelectorAll('#changes > details')].find((d) => d.textContent.includes('querier')).open = true`)
	b.until("words are marked", `[...document.querySelectorAll('.change ins')].some((e) => e.textContent.includes('3'))`)
	b.press("s")
	b.until("side by side", `document.querySelector('.change .diff.split') !== null`)

	// Nothing else runs, and nothing is loaded.
	b.calm()
	b.eval(`{const s = document.createElement('script'); s.textContent = 'window.foreign = 1'; document.body.append(s)}`)
	want("a foreign script", `String(window.foreign)`, "undefined")
	want("what was loaded", `performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('data:')).length`, "0")

	// A print has everything open.
	b.eval(`window.dispatchEvent(new Event('beforeprint'))`)
	want("diffs in print", `document.querySelectorAll('#changes > details[open] .body').length === `+changesShown, "true")

	b.open(&Report{Units: []Unit{{Name: "a", Renderer: "plain", Status: Unchanged}}}, "")
	b.calm()
}

func TestBrowserWithHostileTexts(t *testing.T) {
	b := startBrowser(t)
	b.open(hostile(), "")
	b.eval(`document.querySelectorAll('#changes > details').forEach((d) => { d.open = true })`)
	b.until("the change is open", `document.querySelector('#changes .body') !== null`)
	if got := b.eval(`document.querySelectorAll('img, iframe, [onerror], a[href^=javascript], a[href^=http]').length`); got != "0" {
		t.Errorf("%s elements of strangers in the page", got)
	}
	if got := b.eval(`document.querySelector('.finding h3').textContent.includes('<img src=x onerror=alert(1)>')`); got != "true" {
		t.Error("the text does not stand there to be read")
	}
	b.calm()
}

func TestBrowserWithThousandsOfObjects(t *testing.T) {
	r := &Report{Base: Side{Rev: "a"}, Head: Side{Rev: "b"}}
	for i := range 5000 {
		ref := object.Ref{Unit: fmt.Sprintf("clusters/c%02d", i/100), Group: "apps", Kind: "Deployment", Namespace: "n", Name: fmt.Sprintf("app-%04d", i)}
		c := Change{Diff: "@@ -1,9 +1,9 @@\n" + strings.Repeat("         context: of the difference\n", 12) + fmt.Sprintf("-        image: registry.example/team/app:1.%d.0\n+        image: registry.example/team/app:1.%d.0\n", i, i+1)}
		c.Change = diff.Change{Action: diff.Update, Ref: ref, Fields: []diff.Field{{Path: "spec.replicas", Op: diff.Set, Before: object.Of(1), After: object.Of(i)}}}
		r.Changes = append(r.Changes, c)
	}
	data, _ := pageDataOf(r)
	b := startBrowser(t)
	b.open(r, "#"+data.Changes[4321].ID)
	opened := func() int {
		ms, err := strconv.Atoi(b.eval(`Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)`))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("open after %d ms", ms)
		return ms
	}
	quickest := opened()
	b.until("the link leads to its change", `document.querySelector('.current') !== null && document.querySelector('.current').open && document.querySelector('.current .diff') !== null`)
	if got := b.eval(`document.querySelector('.current .what').textContent`); got != "Deployment n/app-4321" {
		t.Errorf("the link leads to %s", got)
	}
	if got := b.eval(changesShown + ` <= 300`); got != "true" {
		t.Errorf("%s changes are drawn for one link", b.eval(changesShown))
	}
	b.eval(`location.hash = '#` + data.Changes[7].ID + `'`)
	b.until("a link back", `document.querySelector('.current .what').textContent === 'Deployment n/app-0007'`)
	b.eval(`location.hash = '#` + data.Changes[4000].ID + `'`)
	b.until("a link on", `document.querySelector('.current .what').textContent === 'Deployment n/app-4000'`)
	b.eval(`document.querySelector('#changes > .more').click()`)
	b.until("what is before it", `document.querySelector('#changes > details .what').textContent === 'Deployment n/app-0000'`)
	b.open(r, "")
	if quickest = min(quickest, opened()); quickest >= 2000 {
		t.Errorf("a page of 5,000 objects opens after %d ms, want less than 2 s", quickest)
	}
	if got := b.eval(changesShown + ` <= 300`); got != "true" {
		t.Errorf("%s changes are drawn at once", b.eval(changesShown))
	}
	b.set("q", "app-49", "input")
	b.until("the search", changesShown+` === 100`)
	b.calm()
}
