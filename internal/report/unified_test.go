package report

import (
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

func TestASecretThatChangesInsideATextIsShownAsChanged(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a line of YAML", "auth:\n  user: x\n  password: SECRET\nz: 1\n", "-      password: ***\n+      password: *** (another value)\n"},
		{"a line of INI", "[db]\npassword = SECRET\n", "-    password = ***\n+    password = *** (another value)\n"},
		{"one of several lines", "a: {password: SECRET}\nb: {password: SECRET}\n", "+    (another value: a.password)\n+    (another value: b.password)\n"},
		{"one line of JSON", `{"password": "SECRET"}`, "+  f: \"{\\\"password\\\": \\\"***\\\"} (another value)\"\n"},
		{"prose", "log in with password=SECRET there\nand go on\n", "-    log in with password=*** there\n+    log in with password=*** there (another value)\n"},
		{"prose with two", "log in with password=SECRET there\nor with password=SECRET here\n", "+    (another value)\n"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			side := func(secret string) *object.Set {
				text := strings.ReplaceAll(strings.ReplaceAll("\n"+strings.TrimSuffix(c.text, "\n"), "SECRET", secret), "\n", "\n    ")
				manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  f: |" + text + "\n"
				if !strings.HasSuffix(c.text, "\n") {
					manifest = strings.Replace(manifest, "f: |", "f: |-", 1)
				}
				objects, errs := object.Parse("u", "x.yaml", []byte(manifest))
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				return object.NewSet(objects)
			}
			changes := diff.Compare(side("hunter2hunter2"), side("s3condhunter3"), diff.Options{})
			if len(changes) != 1 {
				t.Fatalf("got %d changes, want 1", len(changes))
			}
			got := Unified(changes[0], false)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant in it %s", got, c.want)
			}
			if strings.Contains(got, "hunter") {
				t.Errorf("the secret is shown: %s", got)
			}
			if same := diff.Compare(side("hunter2hunter2"), side("hunter2hunter2"), diff.Options{}); len(same) != 0 {
				t.Errorf("the same secret changes: %v", same)
			}
		})
	}
}
