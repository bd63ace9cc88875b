package object

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// fake gives a token that no scanner should find in this file.
func fake(prefix, unit string, n int) string { return prefix + strings.Repeat(unit, n) }

func TestMaskText(t *testing.T) {
	jwt := strings.Join([]string{"eyJ" + strings.Repeat("hbGci", 8), "eyJ" + strings.Repeat("zdWIi", 8), strings.Repeat("Sflk1", 8)}, ".")
	encodedKey := base64.StdEncoding.EncodeToString([]byte("-----BEGIN " + "RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n"))
	encodedCert := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
	tests := []struct{ name, in, want string }{
		// Assignments.
		{"YAML", "user: x\npassword: hunter2\nport: 1", "user: x\npassword: ***\nport: 1"},
		{"YAML, quoted", `password: "hunter 2" # mine`, `password: "***" # mine`},
		{"YAML, with spaces and a comment", "  - db_password: my pass phrase # c\n", "  - db_password: *** # c\n"},
		{"YAML block", "a:\n  password: |\n    line one\n    line two\n  user: x\n", "a:\n  password: |\n    ***\n  user: x\n"},
		{"YAML flow", "{user: a, password: hunter2, host: b}", "{user: a, password: ***, host: b}"},
		{"YAML anchor", "password: &pw hunter2\nother: *pw\n", "password: &pw ***\nother: *pw\n"},
		{"JSON", `{"user":"x","password":"hunter2","port":1}`, `{"user":"x","password":"***","port":1}`},
		{"JSON with escapes", `{"password": "hun\"ter2", "a": 1}`, `{"password": "***", "a": 1}`},
		{"JSON in JSON", `{"a":"{\"password\":\"hunter2\",\"b\":1}"}`, `{"a":"{\"password\":\"***\",\"b\":1}"}`},
		{"properties", "db.user=x\ndb.password=hunter2 a\n", "db.user=x\ndb.password=***\n"},
		{"INI", "[db]\npassword = hunter2\n", "[db]\npassword = ***\n"},
		{"TOML", "api_key = \"abc\"\ntoken = '''x\ny'''\n", "api_key = \"***\"\ntoken = '''***'''\n"},
		{"dotenv", "export API_TOKEN=abc\nexport A=b\n", "export API_TOKEN=***\nexport A=b\n"},
		{"flag", "--user=x --password=hunter2 --port=1", "--user=x --password=*** --port=1"},
		{"flag and word", "app --token abc --port 1", "app --token *** --port 1"},
		{"flag with a comma", "--password=hun,ter2", "--password=***"},
		{"connection string", "Server=db;User Id=x;Password=hunter2;Port=1", "Server=db;User Id=x;Password=***;Port=1"},
		{"libpq", "host=db password=hunter2 user=x", "host=db password=*** user=x"},
		{"libpq, password first", "password=hunter2 host=db", "password=*** host=db"},
		{"query string", "https://x/y?a=1&token=abc&b=2", "https://x/y?a=1&token=***&b=2"},
		{"signature in a URL", "https://x/y?sv=1&sig=a%2Bb&se=2", "https://x/y?sv=1&sig=***&se=2"},
		{"camel case", `clientSecret: abc`, `clientSecret: ***`},
		{"a short credential behind the header's name", "curl -H \"Authorization: Bearer tok3n75\" x", "curl -H \"Authorization: Bearer ***\" x"},
		{"a name that ends in pass", "PGPASS=hunter2hunter\n", "PGPASS=***\n"},
		{"name and value on two lines", "- name: DB_PASSWORD\n  value: hunter2\n- name: DB_USER\n  value: x\n", "- name: DB_PASSWORD\n  value: ***\n- name: DB_USER\n  value: x\n"},
		{"name and value in JSON", `[{"name":"API_KEY","value":"abc"},{"name":"A","value":"b"}]`, `[{"name":"API_KEY","value":"***"},{"name":"A","value":"b"}]`},
		{"Docker configuration", `{"auths":{"r.io":{"auth":"dXNlcjpwYXNz","email":"x"}}}`, `{"auths":{"r.io":{"auth":"***","email":"x"}}}`},
		{"Go assignment", `password := "x"`, `password := "***"`},
		{"Ruby hash", `password => "x"`, `password => "***"`},
		{"Redis", "port 1\nrequirepass hunter2\n", "port 1\nrequirepass ***\n"},
		{"HAProxy", "user x insecure-password hunter2\n", "user x insecure-password ***\n"},
		{"curl", "curl -s -u user:hunter2 https://x", "curl -s -u user:*** https://x"},
		{"secret key base", "SECRET_KEY_BASE=abc", "SECRET_KEY_BASE=***"},
		// URLs.
		{"URL", "postgres://user:hunter2@db:5432/x", "postgres://user:***@db:5432/x"},
		{"URL without a user", "redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"},
		{"URL with a slash and an at sign in the password", "amqp://u:p/a@ss@h/v", "amqp://u:***@h/v"},
		{"URL inside text", "x https://a:b@c/d y", "x https://a:***@c/d y"},
		{"token as user", "https://" + fake("", "0123456789abcdef", 2) + "@o1.ingest.example.com/1", "https://***@o1.ingest.example.com/1"},
		// Keys.
		{"private key", "a\n-----BEGIN " + "PRIVATE KEY-----\nMIIB\nxx\n-----END PRIVATE KEY-----\nb", "a\n-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----\nb"},
		{"private key on one line", `"-----BEGIN ` + `EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n"`, `"-----BEGIN EC PRIVATE KEY-----***-----END EC PRIVATE KEY-----\n"`},
		{"private key without end", "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nMIIB\n", "-----BEGIN OPENSSH PRIVATE KEY-----***"},
		{"private key in base64", "x " + encodedKey + " y", "x *** y"},
		{"certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"},
		{"certificate in base64", "caBundle " + encodedCert, "caBundle " + encodedCert},
		// Shapes.
		{"AWS", "id " + fake("AKIA", "ABCD2345", 2) + " x", "id *** x"},
		{"GitHub", fake("gh"+"p_", "aB3d", 9), "***"},
		{"GitHub, fine grained", fake("github"+"_pat_", "aB3_", 9), "***"},
		{"GitLab", "(" + fake("gl"+"pat-", "aB3_", 5) + ")", "(***)"},
		{"Slack", fake("xo"+"xb-", "123-", 5), "***"},
		{"Slack webhook", "https://hooks.slack.com/services/T0/B0/abcDEF", "https://hooks.slack.com/services/***"},
		{"OpenAI", fake("s"+"k-proj-", "aB3d", 6), "***"},
		{"Stripe", fake("s"+"k_live_", "aB3d", 6), "***"},
		{"Google", fake("AI"+"za", "aB3d5", 7), "***"},
		{"npm", fake("np"+"m_", "aB3d", 9), "***"},
		{"PyPI", fake("py"+"pi-AgE", "aB3d", 20), "***"},
		{"Vault", fake("hv"+"s.", "aB3d", 6), "***"},
		{"Grafana", fake("gl"+"sa_", "aB3d", 10), "***"},
		{"JWT", "a " + jwt + " b", "a *** b"},
		{"bearer", "Authorization: Bearer " + fake("", "abc1", 6), "Authorization: Bearer ***"},
		{"basic", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:hunter2")), "Authorization: Basic ***"},
		{"bcrypt", "user:$2y$05$" + strings.Repeat("aB3./", 11), "user:***"},
		{"SOPS", "x: ENC[AES256_GCM,data:aB/c=,iv:d=,tag:e=,type:str]\ny: z", "x: ***\ny: z"},
		{"several", "a=1 token=x password=y", "a=1 token=*** password=***"},
		// Command lines.
		{"mysql", "mysql -uroot -phunter2 shop; mysql -p shop", "mysql -uroot -p*** shop; mysql -p shop"},
		{"mysqldump by its path", "/usr/bin/mysqldump -h db -p'hunter 2' shop | gzip", "/usr/bin/mysqldump -h db -p'***' shop | gzip"},
		{"mysql on lines that go on", "mysql \\\n  -u root \\\n  -phunter2", "mysql \\\n  -u root \\\n  -p***"},
		{"redis-cli", "redis-cli -h cache -a hunter2 ping && redis-cli -a $PW ping", "redis-cli -h cache -a *** ping && redis-cli -a $PW ping"},
		{"curl, quoted", "curl -u \"user:hunter 2\" https://x", "curl -u \"user:***\" https://x"},
		{"curl, long", "curl --user user:hunter2 --proxy-user=p:hunter3 https://x", "curl --user user:*** --proxy-user=p:*** https://x"},
		{"curl, glued", "curl -uuser:hunter2 https://x", "curl -uuser:*** https://x"},
		{"curl in a substitution", "x=$(curl -s -u user:hunter2 https://x)", "x=$(curl -s -u user:*** https://x)"},
		{"sshpass", "sshpass -p hunter2 ssh a@b", "sshpass -p *** ssh a@b"},
		{"mongosh", "mongosh -u root -p hunter2 db", "mongosh -u root -p *** db"},
		{"ldapsearch", "ldapsearch -D cn=a -w hunter2 -b x", "ldapsearch -D cn=a -w *** -b x"},
		{"docker login", "docker login -u a -p hunter2 r.io; docker run -p 80:80 x", "docker login -u a -p *** r.io; docker run -p 80:80 x"},
		{"skopeo", "skopeo copy --src-creds a:hunter2 x y", "skopeo copy --src-creds a:*** x y"},
		{"rabbitmqctl", "rabbitmqctl add_user web hunter2", "rabbitmqctl add_user web ***"},
		{"mc", "mc alias set s3 https://x key hunter2", "mc alias set s3 https://x key ***"},
		{"htpasswd", "htpasswd -nb user hunter2", "htpasswd -nb user ***"},
		{"vault", "vault login hunter2", "vault login ***"},
		{"openssl", "openssl rsa -passin pass:hunter2 -in x", "openssl rsa -passin pass:*** -in x"},
		{"kubectl", "kubectl create secret generic a --from-literal=key=hunter2", "kubectl create secret generic a --from-literal=key=***"},
		{"netrc", "machine x.io login a password hunter2\n", "machine x.io login a password ***\n"},
		{"npmrc", "//r.io/:_auth=aHVudGVy", "//r.io/:_auth=***"},
		{"XML", "<user>x</user><password>hunter2</password>", "<user>x</user><password>***</password>"},
		{"XML with a namespace", "<a:clientSecret>hunter2</a:clientSecret>", "<a:clientSecret>***</a:clientSecret>"},
		{"image with credentials", "pull user:hunter2@r.example.com/a/b:1", "pull user:***@r.example.com/a/b:1"},
		{"data source name of MySQL for Go", "root:hunter2@tcp(db:3306)/shop", "root:***@tcp(db:3306)/shop"},
		{"address without a scheme", "web:hunter2@db:5432/shop", "web:***@db:5432/shop"},
		{"Oracle", "jdbc:oracle:thin:scott/hunter2@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x"},
		// Sentences of errors.
		{"a sentence that quotes a password", "RUNTIME ERROR: the password 'hunter two' is too short", "RUNTIME ERROR: the password '***' is too short"},
		{"a sentence that says one", "error: bad password hunter2 for db", "error: bad password *** for db"},
		{"a sentence with is", "the api key is wrong: \"hunter\"", "the api key is wrong: \"***\""},
		{"what kustomize says of literals", "literal sources [password=hunter2 hunter3]: invalid literal source hunter3, expected key=value", "literal sources [***]: invalid literal source ***, expected key=value"},
		{"what a YAML reader says of a password with a star", "line 3: unknown anchor 'hunter' referenced", "line 3: unknown anchor '***' referenced"},
		// Nothing secret.
		{"no login", "docker run -p 8080:80 a; grep -a hunter2 x; ls -a b; sort -u a:b; tar -p x; mysql -p", "docker run -p 8080:80 a; grep -a hunter2 x; ls -a b; sort -u a:b; tar -p x; mysql -p"},
		{"digests and mail without a scheme", "r.io/a:1.2@sha256:" + strings.Repeat("0a", 32) + " mailto:a@b.c/d to:me@example.com git@github.com:a/b", "r.io/a:1.2@sha256:" + strings.Repeat("0a", 32) + " mailto:a@b.c/d to:me@example.com git@github.com:a/b"},
		{"sentences that give none", "unexpected token x1; Secret 'db-1' is missing; field \"password\" must be set; password is required; token expired; could not find token in line 5", "unexpected token x1; Secret 'db-1' is missing; field \"password\" must be set; password is required; token expired; could not find token in line 5"},
		{"empty", "", ""},
		{"policy", "passwordPolicy: strict", "passwordPolicy: strict"},
		{"names of Secrets", "secretName: web-tls\ntokenSecretRef: x\nsecretKeyRef: y\nexistingSecretName: z", "secretName: web-tls\ntokenSecretRef: x\nsecretKeyRef: y\nexistingSecretName: z"},
		{"lifetimes", "TOKEN_TTL=1h\naccess_token_lifetime: 3600\npasswordMinLength: 8\nmax_token: 100", "TOKEN_TTL=1h\naccess_token_lifetime: 3600\npasswordMinLength: 8\nmax_token: 100"},
		{"files", "password_file: /etc/x/pw\ntoken: /var/run/secrets/kubernetes.io/serviceaccount/token", "password_file: /etc/x/pw\ntoken: /var/run/secrets/kubernetes.io/serviceaccount/token"},
		{"words that end in pass, and schemes in prose", "BYPASS=yes-please\nuse Bearer tokens, or Basic authentication\n", "BYPASS=yes-please\nuse Bearer tokens, or Basic authentication\n"},
		{"variables", "password: ${DB_PASSWORD}\ntoken: $(TOKEN)\npassword=$PASS\nsecret: {{ .Values.secret }}\napiKey: \"{{ .key }}\"", "password: ${DB_PASSWORD}\ntoken: $(TOKEN)\npassword=$PASS\nsecret: {{ .Values.secret }}\napiKey: \"{{ .key }}\""},
		{"URL with a variable", "postgres://u:$(DB_PASSWORD)@db/x postgres://u:${PW}@db", "postgres://u:$(DB_PASSWORD)@db/x postgres://u:${PW}@db"},
		{"variables in the middle of a line", "redis-server --requirepass $(REDIS_PASSWORD) -p 1; {token: {{ .token }}, a: b}; app --password ${PW}) x", "redis-server --requirepass $(REDIS_PASSWORD) -p 1; {token: {{ .token }}, a: b}; app --password ${PW}) x"},
		{"switches", "automountServiceAccountToken: false\npassword: true\nsecret: null", "automountServiceAccountToken: false\npassword: true\nsecret: null"},
		{"images", "registry.example.com:5000/a/b@sha256:" + strings.Repeat("0a", 32), "registry.example.com:5000/a/b@sha256:" + strings.Repeat("0a", 32)},
		{"URL with a port", "http://cache.prod.svc:8080/a@b", "http://cache.prod.svc:8080/a@b"},
		{"mail", "ssh://git@github.com/a/b and mailto:x@y.z", "ssh://git@github.com/a/b and mailto:x@y.z"},
		{"proxies", "proxy_pass http://backend;", "proxy_pass http://backend;"},
		{"comparison", `if token == x && secret != y { token=~"a.*" }`, `if token == x && secret != y { token=~"a.*" }`},
		{"words", "tokenize=on, keys: a, key: b, monkey: c, primary_key=id, sort key: x, passage: y, compass=z", "tokenize=on, keys: a, key: b, monkey: c, primary_key=id, sort key: x, passage: y, compass=z"},
		{"kinds", "kind: TokenReview\nresources: [secrets, tokenreviews]\nauthentication: token", "kind: TokenReview\nresources: [secrets, tokenreviews]\nauthentication: token"},
		{"names with sk-", "sk-learn-pipeline-runner-with-a-long-name", "sk-learn-pipeline-runner-with-a-long-name"},
		{"structure", "password:\n  length: 3\ntoken: {}\nsecret: []", "password:\n  length: 3\ntoken: {}\nsecret: []"},
		{"already masked", "password: ***\n", "password: ***\n"},
		{"hashes", "checksum/config: " + strings.Repeat("0123abcd", 8), "checksum/config: " + strings.Repeat("0123abcd", 8)},
		{"time", "token at 12:30:45", "token at 12:30:45"},
		{"a Secret in an error", `bad {"apiVersion": "v1", "data": {"p": "aHVudGVyMg==", "q": {"r": "\"x}"}}, "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"p": "hunter2"}}`,
			`bad {"apiVersion": "v1", "data": {"p": "***", "q": {"r": "***"}}, "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"p": "***"}}`},
		{"a Secret that was cut short", `bad {"apiVersion": "v1", "data": {"p": "aHVudGVyMg==", "q": "aHVu...`, `bad {"apiVersion": "v1", "data": {"p": "***", "q": "***`},
		{"a ConfigMap in an error", `bad {"data": {"p": "x"}, "kind": "ConfigMap"}`, `bad {"data": {"p": "x"}, "kind": "ConfigMap"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MaskText(tt.in); got != tt.want {
				t.Errorf("MaskText(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

// planted are the secrets of plantedManifests: none may be in anything that an
// object gives.
var planted = []string{"planted-", "cGxhbnRlZ", "4242424242"}

const plantedManifests = `
apiVersion: v1
kind: Secret
metadata:
  name: db
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"kind":"Secret","data":{"a":"cGxhbnRlZA=="}}'
    note: "login with password=planted-note today"
data:
  password: cGxhbnRlZA==
  user: cGxhbnRlZA==
stringData:
  config: |
    anything: planted-text
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  DB_PASSWORD: planted-variable
  id_rsa: planted-file
  tls.key: planted-file
  app.yaml: |
    database:
      user: web
      password: planted-password
      url: postgres://web:planted-url@db/x
  .npmrc: "//registry.npmjs.org/:_authToken=planted-npm"
binaryData:
  store.jks: cGxhbnRlZA==
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: app
        image: web@sha256:0000
        command: [sh, -c, "app --token planted-word --level info"]
        lifecycle: {preStop: {exec: {command: [redis-cli, -a, planted-redis, shutdown]}}}
        livenessProbe: {exec: {command: [mysqladmin, ping, -uroot, -pplanted-glued]}}
        readinessProbe: {exec: {command: [curl, -u, "user:planted-user", "https://x"]}}
        args: ["--password=planted-flag", --api-key, planted-item, --level, debug]
        env:
        - {name: DB_PASSWORD, value: planted-env}
        - {name: SESSION_SECRET, value: "4242424242"}
        - {name: DSN, value: "mysql://u:planted-dsn@h/d"}
        - {name: LEVEL, value: info}
        - name: TOKEN
          valueFrom: {secretKeyRef: {name: db-token, key: token}}
        volumeMounts: []
      imagePullSecrets: [{name: pull-token}]
      volumes: [{name: tls, secret: {secretName: web-tls}}]
---
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: sealed}
spec:
  encryptedData: {password: planted-sealed}
  template: {data: {conf: planted-template}}
---
apiVersion: example.com/v1
kind: Database
metadata: {name: db}
spec:
  adminPassword: planted-field
  pin_password: 4242424242
  auth: {clientSecret: planted-client, existingSecret: db-login, secret: db-login, passwordSecret: db-login}
  parameters: [{name: rootPassword, value: planted-parameter}]
  helm: {values: "auth:\n  password: planted-values\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: sops}
data: {a: "ENC[AES256_GCM,data:planted-sops,type:str]"}
sops: {mac: "ENC[planted-mac]", lastmodified: "2024", pgp: [{enc: planted-pgp}]}
`

func TestNoAccessorGivesASecret(t *testing.T) {
	objects, errs := Parse("unit", "a.yaml", []byte(plantedManifests))
	if len(errs) > 0 || len(objects) != 6 {
		t.Fatal(len(objects), errs)
	}
	for _, o := range objects {
		marshalled, err := json.Marshal(o.Root())
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"YAML": string(o.YAML()), "Value.YAML": string(o.Root().YAML()), "JSON": string(marshalled), "String": o.Root().String(),
			"texts": strings.Join(everyText(o.Root()), "\n"), "references": refText(o),
		} {
			for _, secret := range planted {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s: %s gives %q", o.Ref, what, text[max(0, i-40):i+20])
				}
			}
		}
	}
	kept := []struct{ object, path, want string }{
		{"Secret db", "metadata.annotations.note", "login with password=*** today"},
		{"ConfigMap web", `data["app.yaml"]`, "database:\n  user: web\n  password: ***\n  url: postgres://web:***@db/x\n"},
		{"Deployment web", "spec.template.spec.containers[0].args[0]", "--password=***"},
		{"Deployment web", "spec.template.spec.containers[0].args[2]", "***"},
		{"Deployment web", "spec.template.spec.containers[0].args[4]", "debug"},
		{"Deployment web", "spec.template.spec.containers[0].command[2]", "app --token *** --level info"},
		{"Deployment web", "spec.template.spec.containers[0].env[3].value", "info"},
		{"Deployment web", "spec.template.spec.containers[0].env[4].valueFrom.secretKeyRef.name", "db-token"},
		{"Deployment web", "spec.template.spec.containers[0].env[4].valueFrom.secretKeyRef.key", "token"},
		{"Deployment web", "spec.template.spec.imagePullSecrets[0].name", "pull-token"},
		{"Deployment web", "spec.template.spec.volumes[0].secret.secretName", "web-tls"},
		{"Database db", "spec.auth.existingSecret", "db-login"},
		{"Database db", "spec.auth.secret", "db-login"},
		{"Database db", "spec.auth.passwordSecret", "db-login"},
		{"Database db", "spec.helm.values", "auth:\n  password: ***\n"},
		{"Secret sops", "sops", ""},
	}
	for _, k := range kept {
		for _, o := range objects {
			if o.Ref.String() == k.object && o.Text(k.path) != k.want {
				t.Errorf("%s: %s is %q, want %q", k.object, k.path, o.Text(k.path), k.want)
			}
		}
	}
}

// everyText walks all accessors of a value that give text.
func everyText(v Value) []string {
	out := []string{v.Text(), v.String(), string(v.YAML()), v.Marked()}
	out = append(out, v.Texts()...)
	for _, s := range v.Strings() {
		out = append(out, s)
	}
	if m := v.Masked(); m != nil {
		out = append(out, m.Shown)
	}
	for _, f := range v.Fields() {
		out = append(out, everyText(f)...)
	}
	for _, item := range v.Items() {
		out = append(out, everyText(item)...)
	}
	return out
}

func refText(o *Object) string {
	var b strings.Builder
	for _, r := range References(o) {
		b.WriteString(r.To.String() + r.Key + string(r.Path) + "\n")
	}
	w, ok := AsWorkload(o)
	if !ok {
		return b.String()
	}
	for _, c := range w.Containers() {
		for _, f := range c.Flags() {
			b.WriteString(f.Name + "=" + f.Value + "\n")
		}
		for _, a := range c.CommandLine() {
			b.WriteString(a.Text + "\n")
		}
	}
	return b.String()
}

func TestMaskedSecretsCompare(t *testing.T) {
	value := func(password, user string) Value {
		objects, errs := Parse("unit", "a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  f: |\n    user: "+user+"\n    password: "+password+"\n    token: same\n"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return objects[0].At("data.f")
	}
	a, again, other, user := value("one", "x"), value("one", "x"), value("two", "x"), value("one", "y")
	if !a.Equal(again) {
		t.Error("equal secrets are not equal")
	}
	if a.Equal(other) || a.Equal(user) {
		t.Error("different texts are equal")
	}
	if a.Text() != other.Text() {
		t.Errorf("shown %q and %q", a.Text(), other.Text())
	}
	if a.Marked() != again.Marked() || a.Marked() == other.Marked() {
		t.Errorf("marked %q, again %q, other %q", a.Marked(), again.Marked(), other.Marked())
	}
	if got := Unmark(other.Marked()); got != a.Text() {
		t.Errorf("Unmark() = %q, want %q", got, a.Text())
	}
	marked := strings.Split(a.Marked(), "\n")
	if changed := strings.Split(other.Marked(), "\n"); marked[0] != changed[0] || marked[1] == changed[1] || marked[2] != changed[2] {
		t.Errorf("lines %q and %q, want the second alone to differ", marked, changed)
	}
	if got := Unmark("prdiffmask and prdiffmask0123456789abcdefx."); got != "prdiffmask and ***." {
		t.Errorf("Unmark() = %q", got)
	}
}

// What a tool prints is cut anywhere, and need not be English.
func TestMaskTextOfCutAndForeignTexts(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"a flag whose value was cut off", "curl --user=", "curl --user="},
		{"the same of another tool", "skopeo copy --creds=", "skopeo copy --creds="},
		{"a quote that was cut off", `curl --user="`, `curl --user="`},
		{"letters whose small form is longer", strings.Repeat("Ⱥ", 50) + " password", strings.Repeat("Ⱥ", 50) + " password"},
		{"a secret behind such letters", strings.Repeat("Ⱥ", 50) + ` Password "hunter two"`, strings.Repeat("Ⱥ", 50) + ` Password "***"`},
		{"a secret behind letters whose small form is shorter", strings.Repeat("\u212a", 50) + ` password "hunter two"`, strings.Repeat("\u212a", 50) + ` password "***"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MaskText(tt.in); got != tt.want {
				t.Errorf("MaskText(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzMaskText(f *testing.F) {
	for _, s := range append(plainSeeds, plantedManifests, "password=", "a://b:c@", "-----BEGIN PRIVATE KEY-----", "--token  ", "password: |\n", "token: '", `"password\": \"`, "value: x", "name: TOKEN\nvalue: x", "secret => ", "x] = y", "eyJ.eyJ.", "ENC[", "curl -u a:") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		MaskText(text) // looks for more than a field of a manifest does
		m := maskSpans(text, secretSpans(text, anyText))
		if m == nil {
			return
		}
		for _, p := range m.parts {
			if m.Shown[p.at:p.at+len(Mask)] != Mask {
				t.Fatalf("%q: part at %d of %q is no mask", text, p.at, m.Shown)
			}
		}
		if got := Unmark(Value{m}.Marked()); got != m.Shown && !strings.Contains(text, markHead) {
			t.Fatalf("%q: unmarked %q, shown %q", text, got, m.Shown)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	text := strings.Repeat("server:\n  listen: 0.0.0.0:8080\n  timeout: 30s # comment\n  url: http://cache.prod.svc:8080/path?a=b\nqueries:\n  - expr: sum(rate(http_requests_total{job=\"web\"}[5m])) by (code)\n", 5000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		secretSpans(text, anyText)
	}
}

func TestASecretOfTheWrongTypeIsMaskedToo(t *testing.T) {
	for name, fields := range map[string]string{
		"a list":                 "stringData: [hunter2, {a: hunter2}, 1234567]",
		"a text":                 "data: hunter2",
		"a number":               "data: 1234567",
		"a list of maps":         "data: [{name: x, value: hunter2}]",
		"a map of lists":         "stringData: {a: [hunter2], b: {c: hunter2}, d: 1234567}",
		"both, one of them none": "data: {}\nstringData: [[hunter2]]",
	} {
		objects, errs := Parse("u", "x.yaml", []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"+fields+"\n"))
		if len(errs) > 0 || len(objects) != 1 {
			t.Fatalf("%s: %v, %v", name, objects, errs)
		}
		if got := string(objects[0].YAML()); strings.Contains(got, "hunter2") || strings.Contains(got, "1234567") {
			t.Errorf("%s: got %s", name, got)
		}
		if !objects[0].Masks() {
			t.Errorf("%s: nothing is masked", name)
		}
	}
}
