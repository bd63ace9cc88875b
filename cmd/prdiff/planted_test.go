package main

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plantedKinds are manifests with a secret in the place of SECRET, or its base64 in
// the place of ENCODED, one for each way in which manifests hold any.
var plantedKinds = []struct{ name, manifest string }{
	{"data of a Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {anything: ENCODED}\n"},
	{"stringData of a Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {conf: 'a SECRET b'}\n"},
	{"last-applied of a Secret", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"stringData\":{\"a\":\"SECRET\"},\"data\":{\"a\":\"ENCODED\"}}'}\n"},
	{"TLS key", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ntype: kubernetes.io/tls\ndata: {tls.key: ENCODED, tls.crt: ENCODED}\n"},
	{"docker config of a Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{\"auths\":{\"r.io\":{\"auth\":\"ENCODED\"}}}'}\n"},
	{"docker config in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {config.json: '{\"auths\":{\"r.io\":{\"auth\":\"ENCODED\",\"password\":\"SECRET\"}}}'}\n"},
	{"sealed secret", "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: x}\nspec: {encryptedData: {a: SECRET}, template: {data: {b: SECRET}}}\n"},
	{"SOPS", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 'ENC[AES256_GCM,data:SECRET,type:str]'}\nsops: {mac: 'ENC[SECRET]', lastmodified: a}\n"},
	{"environment variable", pod("env: [{name: DB_PASSWORD, value: SECRET}, {name: TOKEN, value: SECRET}]")},
	{"variable with a URL", pod("env: [{name: DSN, value: 'postgres://u:SECRET@db/x'}, {name: SENTRY, value: 'https://0123456789abcdef0123SECRET@o1.example.com/1'}]")},
	{"variable without a scheme", pod("env: [{name: DSN, value: 'root:SECRET@tcp(db:3306)/x'}, {name: REMOTE, value: 'u:SECRET@db:5432/x'}]")},
	{"flag", pod("args: [--password=SECRET, --api-key, SECRET, -token, SECRET]")},
	{"shell", pod("command: [sh, -c, 'export PGPASSWORD=SECRET; app --token SECRET']")},
	{"mysql", pod("command: [sh, -c, 'mysql -uroot -pSECRET x; mysqldump -h a -pSECRET b']")},
	{"mysql in words", pod("command: [mysql, -uroot, -pSECRET]")},
	{"redis-cli", pod("command: [sh, -c, 'redis-cli -a SECRET ping']")},
	{"redis-cli in words", pod("command: [redis-cli]\n      args: [-a, SECRET, ping]")},
	{"curl", pod("command: [sh, -c, 'curl -u user:SECRET https://x; curl --user \"u:SECRET\" y; curl -H \"Authorization: Bearer SECRET\" z; curl -H \"X-Api-Key: SECRET\" z']")},
	{"curl in words", pod("command: [curl, --user, 'user:SECRET', 'https://x']")},
	{"probe", pod("livenessProbe: {exec: {command: [mysqladmin, ping, -pSECRET]}}\n      lifecycle: {preStop: {exec: {command: [redis-cli, -a, SECRET]}}}")},
	{"sshpass, mongosh, ldapsearch", pod("command: [sh, -c, 'sshpass -p SECRET ssh a; mongosh -u a -p SECRET; ldapsearch -D x -w SECRET; skopeo copy --src-creds a:SECRET b c; docker login -u a -p SECRET r.io']")},
	{"rabbitmqctl, mc, vault, htpasswd, kubectl", pod("command: [sh, -c, 'rabbitmqctl add_user a SECRET; mc alias set s https://x key SECRET; vault login SECRET; htpasswd -nb u SECRET; kubectl create secret generic a --from-literal=k=SECRET; openssl rsa -passin pass:SECRET']")},
	{"image", strings.Replace(pod("env: []"), "image: x", "image: 'user:SECRET@r.example.com/x:1'", 1)},
	{"ConfigMap variable", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {API_KEY: SECRET, id_rsa: SECRET, tls.key: SECRET, .netrc: 'machine a login b password SECRET'}\nbinaryData: {store.jks: ENCODED}\n"},
	{"YAML in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.yaml: |\n    db: {user: a, password: SECRET}\n    token: |\n      SECRET\n    list: [{name: DB_PASSWORD, value: SECRET}]\n"},
	{"JSON in a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a.json: '{\"clientSecret\":\"SECRET\",\"inner\":\"{\\\"password\\\":\\\"SECRET\\\"}\"}'}\n"},
	{"properties, INI, TOML, dotenv", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.properties: |\n    db.password=SECRET\n    x=SECRETLY\n  b.ini: |\n    [db]\n    password = SECRET\n  c.toml: |\n    token = \"SECRET\"\n  d.env: |\n    export SECRET_KEY=SECRET\n"},
	{"XML, npmrc, netrc, redis.conf", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.xml: <c><password>SECRET</password></c>\n  npm: |\n    //r.io/:_auth=SECRET\n    //r.io/:_authToken=SECRET\n  n: machine a login b password SECRET\n  redis.conf: |\n    requirepass SECRET\n    masterauth SECRET\n"},
	{"private key", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: |\n    -----BEGIN " + "RSA PRIVATE KEY-----\n    SECRET\n    -----END RSA PRIVATE KEY-----\n"},
	{"annotation", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {example.com/note: 'login with password=SECRET', example.com/hook: 'https://hooks.slack.com/services/SECRET', example.com/token: SECRET}}\ndata: {}\n"},
	{"custom resource", "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: x}\nspec: {adminPassword: SECRET, auth: {clientSecret: SECRET}, parameters: [{name: rootPassword, value: SECRET}], values: \"auth:\\n  password: SECRET\\n\"}\n"},
	{"token shapes", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 'use gh" + "p_SECRETaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', b: 'gl" + "pat-SECRETaaaaaaaaaaaaaaaaaaa', c: 'xo" + "xb-SECRET-aaaaaaaaaaa'}\n"},
	{"set of Helm", pod("args: ['--set=db.password=SECRET', '--set', 'a=b,auth.token=SECRET']")},
}

func pod(fields string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - name: app\n        image: x\n        " + strings.ReplaceAll(fields, "\n", "\n  ") + "\n"
}

// plantedSecret is a secret that nothing else spells. It has a digit, as made-up
// words have.
func plantedSecret(kind, n int) string { return fmt.Sprintf("Pl4nted%02dv%d", kind, n) }

// plantIn puts secrets in the places for them.
func plantIn(text string, kind, n int) string {
	s := plantedSecret(kind, n)
	return strings.NewReplacer("SECRET_KEY", "SECRET_KEY", "SECRETLY", "plain", "SECRET", s, "ENCODED", base64.StdEncoding.EncodeToString([]byte(s))).Replace(text)
}

// leaks gives what of the planted secrets is in an output, with what is around it.
func leaks(text string) []string {
	var out []string
	for _, word := range []string{"Pl4nted", base64.StdEncoding.EncodeToString([]byte("Pl4nted"))[:8]} {
		for from := 0; ; {
			n := strings.Index(text[from:], word)
			if n < 0 {
				break
			}
			at := from + n
			out = append(out, fmt.Sprintf("%q", text[max(0, at-60):min(len(text), at+20)]))
			from = at + len(word)
		}
	}
	return out
}

func noLeak(t *testing.T, where, text string) {
	t.Helper()
	for i, l := range leaks(text) {
		if i == 10 {
			break
		}
		t.Errorf("%s: %s", where, l)
	}
}

// TestPlantedSecrets runs secrets of every kind, that stay, change, come and go,
// through every format, every place where a report is published, prdiff render, the
// cache and the texts of errors.
func TestPlantedSecrets(t *testing.T) {
	h := newHub(t)
	s := newStage(t, h, pullEvent)
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range plantedKinds {
		for _, unit := range []struct {
			name          string
			before, after int
		}{{"stays", 1, 1}, {"changes", 1, 2}, {"comes", 0, 2}, {"goes", 1, 0}} {
			dir := fmt.Sprintf("k%02d-%s", i, unit.name)
			// A label changes beside it, so that there is a diff to read.
			labelled := func(n int) string {
				m := strings.Replace(plantIn(k.manifest, i, n), "name: x", "name: x-"+unit.name, 1)
				return strings.Replace(m, "kind: ", fmt.Sprintf("seen: Visible%02d%d\nkind: ", i, n), 1)
			}
			if unit.before > 0 {
				write("before/"+dir+"/x.yaml", labelled(unit.before))
			}
			if unit.after > 0 {
				text := labelled(unit.after)
				if unit.name == "stays" {
					text = strings.Replace(text, fmt.Sprintf("Visible%02d1", i), fmt.Sprintf("Visible%02d3", i), 1)
				}
				write("after/"+dir+"/x.yaml", text)
			}
		}
	}
	write("rendered/all.yaml", allPlanted())
	for n, side := range []string{"before", "after"} {
		for name, text := range brokenUnits() {
			write(side+"/"+name, plantIn(text, 90, n+1))
		}
	}

	e := s.env()
	e.stderr = &s.stderr // run filters it itself
	args := []string{"diff", "before", "after", "--publish=comment,summary,annotations,check,code-scanning", "--show-hidden", "-v", "--cache", filepath.Join(s.dir, "cache")}
	for _, f := range actionFormats {
		args = append(args, "--format", f.format+"="+filepath.Join(s.dir, f.file))
	}
	args = append(args, "--format", "github="+filepath.Join(s.dir, "report.github"), "--format", "text")
	run(context.Background(), e, args)
	// Whatever is looked for must have had its chance to be there.
	for i, k := range plantedKinds {
		for _, unit := range []string{"stays", "changes", "comes", "goes"} {
			name := fmt.Sprintf("k%02d-%s", i, unit)
			if !strings.Contains(s.file("report.json"), `"unit": "`+name+`"`) {
				t.Errorf("%s: %s has no change in the report: the test tests nothing\n%.2000s", k.name, name, s.stderr.String())
			}
		}
	}
	for name := range brokenUnits() {
		if unit := strings.SplitN(name, "/", 2)[0]; !strings.Contains(s.file("report.json"), unit) {
			t.Errorf("%s is not in the report", unit)
		}
	}
	if len(h.comments) != 1 || len(h.checks) == 0 {
		t.Fatalf("%d comments, %d checks: %s", len(h.comments), len(h.checks), s.stderr.String())
	}
	noLeak(t, "stdout", s.stdout.String())
	noLeak(t, "stderr", s.stderr.String())
	noLeak(t, "comment", h.comments[0].Body)
	for _, name := range []string{"summary", "output", "report.json", "report.md", "report.html", "report.sarif", "report.github"} {
		if name != "output" && s.file(name) == "" {
			t.Errorf("%s is empty", name)
		}
		noLeak(t, name, s.file(name))
	}
	for _, check := range h.checks {
		text, err := json.Marshal(check)
		if err != nil {
			t.Fatal(err)
		}
		noLeak(t, "check run", string(text))
	}
	checkCache(t, filepath.Join(s.dir, "cache"))

	for _, dir := range []string{"rendered", "after"} {
		r := newStage(t, h, pullEvent)
		e := r.env()
		e.dir, e.stderr = filepath.Join(s.dir, dir), &r.stderr
		e.getenv = func(name string) string {
			if strings.HasPrefix(name, "GITHUB_") {
				return ""
			}
			return r.vars[name]
		}
		run(context.Background(), e, []string{"render", "."})
		if !strings.Contains(r.stdout.String(), "kind: Database") {
			t.Errorf("prdiff render . in %s prints %.500s%s", dir, r.stdout.String(), r.stderr.String())
		}
		noLeak(t, "render in "+dir, r.stdout.String()+r.stderr.String())
	}
}

func allPlanted() string {
	var b strings.Builder
	for i, k := range plantedKinds {
		b.WriteString("---\n" + strings.ReplaceAll(plantIn(k.manifest, i, 1), "name: x", fmt.Sprintf("name: x%d", i)))
	}
	return b.String()
}

// brokenUnits are units that do not render, with a secret where the error may
// quote it.
func brokenUnits() map[string]string {
	return map[string]string{
		"broken-yaml/x.yaml":                        "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  password: SECRET\n  x: [\n",
		"broken-type/x.yaml":                        "apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: 1}\nstringData: {password: SECRET: 1}\n",
		"broken-alias/x.yaml":                       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {password: *SECRET}\n",
		"jsonnet-error/jsonnetfile.json":            "{}",
		"jsonnet-error/environments/a/spec.json":    `{"spec": {}}`,
		"jsonnet-error/environments/a/main.jsonnet": "local password = 'SECRET';\nerror \"the password '%s' is too short\" % password\n",
		"jsonnet-error/environments/b/spec.json":    `{"spec": {}}`,
		"jsonnet-error/environments/b/main.jsonnet": "local token = 'SECRET';\n{ a: error 'token=' + token }\n",
		"jsonnet-error/environments/c/spec.json":    `{"spec": {}}`,
		"jsonnet-error/environments/c/main.jsonnet": "assert false : 'bad password SECRET for db';\n{}\n",
		"jsonnet-error/environments/d/spec.json":    `{"spec": {}}`,
		"jsonnet-error/environments/d/main.jsonnet": "{ a: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept-in-the-cache' }, data: { a: '%d' % std.length('SECRET') } } }\n",
		"chart-error/Chart.yaml":                    "apiVersion: v2\nname: a\nversion: 1.0.0\n",
		"chart-error/values.yaml":                   "password: SECRET\n",
		"chart-error/templates/a.yaml":              "{{ fail (printf \"password %s is too short\" .Values.password) }}\n",
		"chart-broken/Chart.yaml":                   "apiVersion: v2\nname: a\nversion: 1.0.0\n",
		"chart-broken/values.yaml":                  "password: SECRET\n",
		"chart-broken/templates/a.yaml":             "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: {{ .Values.password }}: b}\n",
		"overlay-error/kustomization.yaml":          "resources: [a.yaml]\npatches:\n- patch: '[{\"op\": \"replace\", \"path\": \"/spec/password\", \"value\": \"SECRET\"}]'\n  target: {kind: ConfigMap}\nsecretGenerator:\n- name: s\n  literals: [password=SECRET, SECRET]\n",
		"overlay-error/a.yaml":                      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}
}

// checkCache looks into what is kept on disk, unpacked.
func checkCache(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		noLeak(t, "cache", string(data))
		for i := range data[:min(len(data), 256)] { // wherever the packed part begins
			unpacked, _ := io.ReadAll(flate.NewReader(bytes.NewReader(data[i:])))
			if found := leaks(string(unpacked)); len(found) > 0 {
				t.Errorf("cache, unpacked: %s", found[0])
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("nothing is in the cache: the test tests nothing")
	}
}
