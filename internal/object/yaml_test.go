package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range plainSeeds {
		f.Add([]byte(s))
	}
	for _, s := range parseSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkParse(t, data)
	})
}

// parseSeeds are whole manifests, sound and broken.
var parseSeeds = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    x\n  b: \"\\u0085\\x01\"\n  c: \"\\n x\"\n  d: \" x\\n\"\n  e: \"x\\n\\n\"\n",
	"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {generateName: x-}\n", `{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]}`,
	`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"B","metadata":{"name":"b","x":[null,1.5,-0,1e30,"\ud83d\ude00"]}}`,
	"\xFF\xFEa\x00:\x00 \x00b\x00", "\xEF\xBB\xBFapiVersion: v1\r\nkind: A\r\nmetadata:\r\n  name: a\r\n", "apiVersion: v1\nkind: A\nmetadata: &m\n  name: a\nspec:\n  <<: *m\n  x: [*m, *m]\n",
	"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "[[[[[[", "{\"a\":", "? [a]\n: b\n", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n", "- x\n", "\x00", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n? " + strings.Repeat("k", 1500) + "\n: v\n",
	"apiVersion: v1\nkind: A\nmetadata: {name: a}\nx:\n  \"true\": 1\n  \"1\": 2\n  \"~\": 3\n  \"\": 4\n  '- a': '- b'\n  '=': '='\n  a: '12:30:45'\n  b: '2001-01-01'\n  c: '---'\n  d: '#a'\n  e: 'a: b'\n",
}

// checkParse fails when an object does not survive being printed and parsed again.
func checkParse(t *testing.T, data []byte) {
	t.Helper()
	objects, errs := Parse("unit", "a.yaml", data)
	for _, err := range errs {
		if _, ok := err.(*ParseError); !ok {
			t.Fatalf("Parse(%q) gives error %v of type %T", data, err, err)
		}
	}
	for _, o := range objects {
		printed := o.YAML()
		again, errs := Parse("unit", "a.yaml", printed)
		if len(errs) > 0 || len(again) != 1 {
			t.Fatalf("printed %q\nread as %d objects, errors %v", printed, len(again), errs)
		}
		if again[0].Ref != o.Ref {
			t.Fatalf("printed %q\nread as %v, was %v", printed, again[0].Ref, o.Ref)
		}
		if second := again[0].YAML(); !bytes.Equal(printed, second) {
			t.Fatalf("printed first\n%q\nthen\n%q", printed, second)
		}
		if !o.Masks() && !again[0].Root().Equal(o.Root()) {
			t.Fatalf("printed %q\nread as %s, was %s", printed, again[0].Root(), o.Root())
		}
		asJSON, err := json.Marshal(o.Root())
		if err != nil {
			t.Fatal(err)
		}
		fromJSON, errs := Parse("unit", "a.json", asJSON)
		if len(errs) > 0 || len(fromJSON) != 1 || !bytes.Equal(fromJSON[0].YAML(), printed) {
			t.Fatalf("JSON %q\nread as %v, errors %v", asJSON, fromJSON, errs)
		}
	}
}

func TestPrintingAndParsingIsTheIdentity(t *testing.T) {
	for _, s := range append(plainSeeds, parseSeeds...) {
		checkParse(t, []byte(s))
	}
	for _, s := range plainSeeds {
		// The same texts as values of a field.
		manifest := map[string]any{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"}, "text": s, s: "key", "list": []any{s, []any{s}, map[string]any{s: s}}}
		o, err := New("unit", Origin{Path: "a.yaml"}, manifest)
		if err != nil {
			t.Fatal(err)
		}
		checkParse(t, o.YAML())
	}
}

func TestYAML(t *testing.T) {
	const manifest = `{"kind":"Deployment","spec":{"replicas":3,"ratio":0.5,"on":true,"template":{"spec":{"containers":[
		{"name":"app","image":"x:1","args":["--a=b","-c","8080","","yes","a: b","# no"],"env":[{"name":"A","value":"1"}],"nested":[[1,2],[]],"empty":{}}]}}},
		"data":{"conf":"a: b\nc: d\n","tail":"x\n\n","cut":"x\ny","lead":" x\ny","crlf":"a\r\nb"},"metadata":{"name":"web","labels":{"app.kubernetes.io/name":"web"}},"apiVersion":"apps/v1"}`
	objects, errs := Parse("unit", "a.json", []byte(manifest))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	const want = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/name: web
  name: web
data:
  conf: |
    a: b
    c: d
  crlf: "a\r\nb"
  cut: |-
    x
    y
  lead: " x\ny"
  tail: |+
    x

spec:
  "on": true
  ratio: 0.5
  replicas: 3
  template:
    spec:
      containers:
      - args:
        - --a=b
        - -c
        - "8080"
        - ""
        - "yes"
        - 'a: b'
        - '# no'
        empty: {}
        env:
        - name: A
          value: "1"
        image: x:1
        name: app
        nested:
        - - 1
          - 2
        - []
`
	if got := string(objects[0].YAML()); got != want {
		t.Errorf("YAML() =\n%s\nwant\n%s", got, want)
	}
}

func BenchmarkYAML(b *testing.B) {
	objects, errs := Parse("unit", "a.yaml", manySample(1000))
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, o := range objects {
			o.YAML()
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data := manySample(1000)
	b.Run("YAML", func(b *testing.B) { benchmarkParse(b, data) })
	// Anchors need the full reader.
	b.Run("full YAML", func(b *testing.B) {
		benchmarkParse(b, bytes.ReplaceAll(data, []byte("  name: web"), []byte("  name: &n web")))
	})
	objects, _ := Parse("unit", "a.yaml", data)
	var asJSON []byte
	for _, o := range objects {
		one, err := json.Marshal(o.Root())
		if err != nil {
			b.Fatal(err)
		}
		asJSON = append(asJSON, one...)
	}
	b.Run("JSON", func(b *testing.B) { benchmarkParse(b, asJSON) })
}

func benchmarkParse(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if objects, errs := Parse("unit", "a.yaml", data); len(errs) > 0 || len(objects) != 1000 {
			b.Fatal(len(objects), errs)
		}
	}
}

// manySample gives n Deployments of usual size.
func manySample(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d
  namespace: shop
  labels:
    app.kubernetes.io/name: web-%d
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web-%d
  template:
    metadata:
      labels:
        app: web-%d
    spec:
      containers:
      - name: app
        image: registry.example.com/shop/web:1.%d.0
        args:
        - --config=/etc/web/config.yaml
        - --log.level=info
        env:
        - name: GOMAXPROCS
          value: "4"
        - name: CONFIG
          value: |
            server:
              port: 8080
              timeout: 30s
        ports:
        - name: http
          containerPort: 8080
        resources:
          requests: {cpu: 500m, memory: 512Mi}
        readinessProbe:
          httpGet:
            path: /ready
            port: http
`, i, i, i, i, i)
	}
	return b.Bytes()
}
