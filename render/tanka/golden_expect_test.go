package tanka

const (
	fileLayout  = "about the names of the files that tk export writes, which prdiff does not write"
	twoCommands = "about a second export into the same folder, which prdiff does not write"
)

// outOfScope are the cases that are not run, with the reason.
var outOfScope = map[string]string{
	"07-tla-and-extvars/bad-flag":                   "about how tk splits its command line",
	"16-export-files/bad-format":                    fileLayout,
	"16-export-files/duplicate":                     fileLayout,
	"16-export-files/two-paths-not-recursive":       "about a flag of tk export",
	"16-export-files/not-empty":                     twoCommands,
	"16-export-files/merge-conflict":                twoCommands,
	"16-export-files/merge-add":                     twoCommands,
	"16-export-files/merge-replace":                 twoCommands,
	"16-export-files/merge-deleted":                 twoCommands,
	"16-export-files/merge-strategy-unknown":        "about a flag of tk export",
	"18-importers/missing":                          "about a file given to tk tool importers that does not exist; prdiff's changes come from git",
	"18-importers/count":                            "about tk tool importers-count",
	"19-importstr-importbin-eval/show-without-flag": "about tk show without a terminal",
}

// accepted are cases that tk refuses and prdiff renders on purpose.
var accepted = map[string]string{
	"04-spec-json/export-deprecated":             "tk show renders it; tk export loses the way to the file",
	"23-gossip-ring-label/not-run-from-the-root": "tk export looks for the file relative to the working folder",
}

// stricter are cases that tk accepts and prdiff refuses on purpose, with a part of the error.
var stricter = map[string]string{
	// tk export writes the Environment out as a manifest; tk show refuses.
	"22-spec-json-with-inline-objects/export": "found a tanka Environment resource",
}

// refused are the cases that must be errors, with what the error must say.
var refused = map[string][]string{
	"02-import-order/missing":                                {"environments/missing/main.jsonnet:1: ", `import "no/such.libsonnet" not found`},
	"03-root-discovery/no-base":                              {"with-tkrc/environments/no-main: unable to identify the environment's base directory", "main.jsonnet"},
	"03-root-discovery/no-root":                              {"no-root/environments/e: unable to identify the project root", "tkrc.yaml or jsonnetfile.json"},
	"04-spec-json/show-mistyped":                             {"broken/mistyped/spec.json:1: parsing spec.json: ", "cannot unmarshal number into Go struct field Spec.spec.namespace of type string"},
	"04-spec-json/show-syntax":                               {"broken/syntax/spec.json:1: parsing spec.json: invalid character '}' looking for beginning of object key string"},
	"04-spec-json/show-no-spec":                              {"broken/no-spec: found no matching environments"},
	"04-spec-json/export-no-spec":                            {"broken/no-spec: found no matching environments"},
	"05-inline-environments/export-many-without-name":        {`found multiple Environments in "environments/many"`, "--name: eu, eu-dev, us/dev, us/prod"},
	"05-inline-environments/export-name-substring-ambiguous": {`found multiple Environments in "environments/many" matching "us/"`, ": us/dev, us/prod"},
	"05-inline-environments/show-by-name-as-path":            {"eu-dev: no such file or folder", "unable to identify the environment's base directory"},
	"05-inline-environments/show-name-none":                  {"environments/many: found no matching environments"},
	"05-inline-environments/show-none":                       {"environments/none: found no matching environments"},
	"05-inline-environments/show-many":                       {"environments/many/main.jsonnet: ", `(at .): missing attribute "apiVersion"`},
	"06-tk-environment-extvar/show-inline":                   {"environments/inline/main.jsonnet:7: ", "Using tk.env and std.extVar('tanka.dev/environment') is only supported for static environments"},
	"07-tla-and-extvars/unknown-tla":                         {"function has no parameter nosuch"},
	"07-tla-and-extvars/ext-missing":                         {"environments/ext/main.jsonnet:6: Undefined external variable: c", "cm.data.c"},
	"07-tla-and-extvars/inline-missing-tla":                  {"Missing argument: region"},
	"09-native-function-errors/parse-json":                   {"parse-json/main.jsonnet:1: invalid character '}' looking for beginning of value"},
	"09-native-function-errors/parse-json-trailing":          {"invalid character '{' after top-level value"},
	"09-native-function-errors/parse-json-empty":             {"unexpected end of JSON input"},
	"09-native-function-errors/parse-yaml":                   {"parsing yaml: yaml: line 1: did not find expected ',' or ']'"},
	"09-native-function-errors/parse-yaml-int-key":           {"converting yaml to json: json: unsupported type: map[interface {}]interface {}"},
	"09-native-function-errors/parse-yaml-tab":               {"parsing yaml: yaml: line 2: found character that cannot start any token"},
	"09-native-function-errors/parse-yaml-dup":               {"parsing yaml: yaml: ", `line 2: mapping key "a" already defined at line 1`},
	"09-native-function-errors/regex":                        {"error parsing regexp: missing closing ): `(`"},
	"09-native-function-errors/subst":                        {"error parsing regexp: missing closing ]: `[`"},
	"09-native-function-errors/manifest-json":                {"unexpected end of JSON input"},
	"09-native-function-errors/manifest-yaml":                {"unexpected end of JSON input"},
	"09-native-function-errors/unknown":                      {"Unexpected type null, expected function"},
	"09-native-function-errors/arity":                        {"function expected 1 positional argument(s), but got 2"},
	"09-native-function-errors/helm-no-calledfrom":           {"helmTemplate: 'opts.calledFrom' is unset or empty"},
	"09-native-function-errors/helm-no-chart":                {"helmTemplate: no chart at", "nowhere/charts/x does not exist"},
	"09-native-function-errors/helm-type":                    {"first argument 'name' must be a string"},
	"09-native-function-errors/kustomize-no-calledfrom":      {"kustomizeBuild: 'opts.calledFrom' is unset or empty"},
	"09-native-function-errors/kustomize-no-dir":             {"kustomizeBuild: no kustomization at", "nowhere/k does not exist"},
	"10-extraction/root-string":                              {"root-string/main.jsonnet: found invalid Kubernetes object (at .)"},
	"10-extraction/string-in-object":                         {`(at .web.config): missing attribute "apiVersion"`, "replicas is a string"},
	"10-extraction/number-in-array":                          {`(at .list): missing attribute "apiVersion"`, "[1] is a number"},
	"10-extraction/null-in-array":                            {`(at .list): missing attribute "apiVersion"`, "[0] is null"},
	"10-extraction/bool-at-top":                              {`(at .): missing attribute "apiVersion"`, "enabled is a boolean"},
	"10-extraction/kind-missing":                             {`(at .web): missing attribute "kind"`},
	"10-extraction/kind-empty":                               {`(at .web): attribute "kind" is empty`},
	"10-extraction/kind-number":                              {`(at .web): attribute "kind" is not a string, it is a number`},
	"10-extraction/api-version-missing":                      {`(at .web): missing attribute "apiVersion"`},
	"10-extraction/no-metadata":                              {".web has missing or invalid fields", "metadata: missing or not an object", "metadata.name: missing or not of string type"},
	"10-extraction/no-name":                                  {".a.web.[0] has missing or invalid fields: metadata.name: missing or not of string type"},
	"10-extraction/label-not-string":                         {".web has missing or invalid fields: metadata.labels: contains non-string field 'n' of type 'number'"},
	"10-extraction/annotations-list":                         {".web has missing or invalid fields: metadata.annotations: must be an object, but is an array"},
	"10-extraction/name-number":                              {".web has missing or invalid fields: metadata.name: missing or not of string type"},
	"10-extraction/runtime-error":                            {"runtime-error/main.jsonnet:1: name must be set", "web.metadata.name"},
	"10-extraction/syntax-error":                             {"syntax-error/main.jsonnet:1: Expected a comma before next field"},
	"10-extraction/export-string-in-object":                  {`(at .web.config): missing attribute "apiVersion"`},
	"11-lists/bad-item":                                      {".l.items[1] has missing or invalid fields: apiVersion: missing or not of string type"},
	"11-lists/string-item":                                   {".l.items[0]: list item is not an object, it is a string"},
	"11-lists/list-without-items":                            {".l has missing or invalid fields", "metadata: missing or not an object"},
	"13-labels-and-defaults/inject-bad-field":                {".spec.contextNames: unsupported value type"},
	"14-order-and-targets/target-bad":                        {"error parsing regexp: missing closing ): `(?i)^configmap/($`"},
	"17-finding-environments/export-recursive":               {"lazy/environments/inline/main.jsonnet:1: data is not evaluated when listing"},
	"17-finding-environments/other-file-by-folder":           {"environments/other-name: unable to identify the environment's base directory", "main.jsonnet"},
	"17-finding-environments/no-such-path":                   {"environments/zzz: no such file or folder", "unable to identify the environment's base directory"},
	"17-finding-environments/outside-the-project":            {"broken/environments/inline/main.jsonnet:1: no name"},
	"17-finding-environments/broken":                         {"environments/inline/main.jsonnet:1: no name"},
	"17-finding-environments/broken-export":                  {"environments/fine/main.jsonnet:1: a static environment is listed without being evaluated"},
	"19-importstr-importbin-eval/eval-missing":               {"e/main.jsonnet: Field does not exist: nosuch"},
	"19-importstr-importbin-eval/show-primitives-fail":       {`(at .list.[0]): missing attribute "apiVersion"`},
	"20-helm-template/clash":                                 {"lib/tiny.libsonnet:1: helmTemplate: chart lib/charts/tiny: two resources share the name 'Pod'; adapt nameFormat '{{ .kind }}'", "called from environments/clash/main.jsonnet:1"},
	"20-helm-template/bad-values":                            {"helmTemplate: third argument 'opts': option 'values' cannot be a string"},
	"21-kustomize-build/broken":                              {"kustomizeBuild: environments/k/broken: ", "no-such.yaml"},
	"22-spec-json-with-inline-objects/show":                  {"found a tanka Environment resource", "spec.json"},
}

type touched struct {
	mains  []string
	reason string
}

// touches are the cases where the answer differs from that of tk tool importers.
var touches = map[string]touched{
	"18-importers/comment-only":           {nil, "tk counts an import in a comment"},
	"18-importers/deleted-in-environment": {nil, "tk counts every file beside a main.jsonnet, whether it is imported or not"},
}
