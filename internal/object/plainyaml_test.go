package object

import (
	"strings"
	"testing"
)

func FuzzPlainYAML(f *testing.F) {
	for _, s := range plainSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkPlain(t, text)
	})
}

// checkPlain fails when the plain reader takes text for something else than the
// full reader does.
func checkPlain(t *testing.T, text string) bool {
	t.Helper()
	data, err := decodeText([]byte(text))
	if err != nil {
		return false
	}
	decoded := string(data)
	taken := false
	for _, c := range splitDocuments(decoded) {
		doc := decoded[c.start:c.end]
		offset, lines, _ := firstContent(doc)
		plain, ok := decodePlainYAML(doc, offset, c.line+lines)
		if !ok {
			continue
		}
		taken = true
		full, err := decodeFullYAML(doc, c.line, c.line+lines)
		if err != nil {
			t.Fatalf("plain reader takes %q as %#v, full reader: %v", doc, plain.root, err)
		}
		if !equal(plain.root, full.root, false) {
			t.Fatalf("plain reader takes %q as %#v, full reader as %#v", doc, plain.root, full.root)
		}
		if len(plain.warnings) != len(full.warnings) && !strings.Contains(text, "<<") {
			t.Fatalf("plain reader has %d double keys in %q, full reader %d", len(plain.warnings), doc, len(full.warnings))
		}
	}
	return taken
}

// plainSeeds are texts in which the two readers could disagree.
var plainSeeds = []string{
	"a: b\n", "a:\n  b: c\n  d: e\nf: g", "a:\n- b\n- c\nd: e\n", "a:\n  - b: c\n    d: e\n  - f\n", "- - a\n  - b\n- c\n",
	"a: |\n  x\n   y\n\n  z\n\nb: c\n", "a: |-\n  x\n", "a: |+\n  x\n\n\nb: 1", "a: |\n\n  x\n", "a: |\n   \n  x\n", "a: |\n  x", "a: |\nb: c", "a: |+\n\nb: c\n",
	"a: |\n  x\n # c\nb: c\n", "a: |\n  x\n  # c\nb: c\n", "a: |\n  x\n    \n  \t\n   \nb: c\n",
	"a: b\n  c\n\n  d\ne: f\n", "a: b # c\n", "a: b#c\n", "a: 'it''s' # x\n", "a: \"x\\n\\u00e9\\t\\\\\\/\"\n", "'a': b\n\"c d\": e\n",
	"a: [1, x, \"y\", 'z', [], {}]\n", "a: {b: c, d: [e], f: null}\n", "a: {}\nb: []\n", "a: {b: c,}\n", "a: [,]\n",
	"a: ~\nb: null\nc:\nd: Null\n", "y: n\n80: 1\n1.5: 2\ntrue: x\n", "a: 0x1F\nb: 0o17\nc: 017\nd: 0b11\ne: -0b11\nf: 1_000\ng: 1e3\nh: .5\ni: +1\nj: 1.\n",
	"a: 2001-01-01\nb: 2001-12-14t21:59:43.10-05:00\nc: 12:30:45\nd: 1e400\ne: 0x\nf: 08\n", "a: .inf\n", "a: -.INF\nb: .nan\n", "a: yes\nb: Off\nc: oN\n",
	"a: 1\na: 2\n", "a: 1\na:\n", "a:\na: 1\n", "a: {b: 1, b: 2}\n", "a: 18446744073709551615\nb: 9223372036854775808\nc: -9223372036854775808\n",
	"# c\na: b\n# d\n  # e\nf: g\n", "a:\n  # c\n  b: c\n # d\n  e: f\n", "a: b\n c: d\n", "a:\n    b: c\n  d: e\n", "a: b: c\n", "a:b\n", "- a:\n  - b\n  c: d\n",
	"-\n  a: b\n-\n- c\n", "a: -\n", "a: - b\n", "a: -b\n", "a: ? b\n", "? a\n: b\n", "a: &x b\nc: *x\n", "<<: {a: b}\n", "a: !!str 1\n", "a: >\n  b\n  c\n",
	"a:\n- b\n  c\n-  d\n", "a: http://x:80/y#z\nb: a:b\n", "a: x\ty\n", "a:\tb\n", "\ta: b\n", "a: b \t\n", "a: *\n", "a: %x\n", "a: @x\n",
	"apiVersion: v1\nkind: List\nitems:\n- a: b\n\n- c: d\nmetadata: {}\n", "items:\n  - a\n  - b\n c: d\n", "a: \"b\"c\n", "a: 'b\n  c'\n", "a: \"\"\n\"\": b\n",
	"a: b\n---\nc: d\n...\ne: f\n--- g\n---\n# h\n", "%YAML 1.1\n---\na: b\n", "a: |2\n   x\n", "a: \u00e9\u2028x\n", "a: \U0001F600\n", "a: - -\n", "a:\n  - b\n - c\n", "a: |\n  x\n y\n",
	"- a\nb: c\n", "a\n", "a: .\nb: .5.5\nc: .e1\n", "a: 0_1\nb: _1\nc: 1__\n", "a: '#x'\nb: '\nc: d\n", "a: b\n\n\n", "a:   b   \n", "a : b\n", "a: b:\n", "a: ::\n", "a: [a: b]\n", "a: {a}\n", "a: {\"b\":1}\n",
}

func TestPlainReaderReadsAsTheFullReaderDoes(t *testing.T) {
	taken := 0
	for _, s := range plainSeeds {
		if checkPlain(t, s) {
			taken++
		}
	}
	if taken < len(plainSeeds)/3 {
		t.Errorf("plain reader takes %d of %d texts", taken, len(plainSeeds))
	}
}
