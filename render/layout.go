package render

import (
	"path"
	"slices"
	"strings"
)

// Nondeterministic stands in an object for a value that is another one each time
// the same files are rendered.
const Nondeterministic = "(differs on every rendering)"

// Vendored says whether a folder lies in a vendored tree: nothing in it is a
// unit, though units may read it.
func Vendored(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool {
		switch s {
		case "vendor", "node_modules", "third_party", ".terraform", "bower_components":
			return true
		}
		return false
	})
}

// notDeployed gives, per folder name, why what lies below is not deployed.
var notDeployed = map[string]string{
	"test": "test data", "tests": "test data", "testdata": "test data", "test-data": "test data",
	"fixtures": "test data", ".fixtures": "test data", "e2e": "test data", "integration-test": "test data",
	"integration-tests": "test data", "__tests__": "test data", "golden": "test data", "fake": "test data", "mocks": "test data",
	"example": "example", "examples": "example", "sample": "example", "samples": "example", "demo": "example",
	"docs": "example", "doc": "example", "documentation": "example", "website": "example", "scenarios": "example",
	"hack": "not deployed by its name", "scripts": "not deployed by its name", "_scaffold": "not deployed by its name", "_skel": "not deployed by its name",
}

// environmentParents are folders below which any name is an environment's, also
// "test" and "demo".
var environmentParents = []string{"overlays", "environments", "envs", "clusters", "deployments"}

// NotDeployed says why what lies in dir is taken for no deployment, going by the
// names of its folders: test data, examples, hidden folders. "" when nothing
// speaks against it. A reference from elsewhere, or the configuration, overrides it.
func NotDeployed(dir string) string {
	segments := strings.Split(path.Clean(dir), "/")
	for i, s := range segments {
		if i > 0 && slices.Contains(environmentParents, segments[i-1]) {
			continue
		}
		if reason := notDeployed[s]; reason != "" {
			return reason
		}
		if len(s) > 1 && s[0] == '.' && s != ".." {
			return "hidden folder"
		}
	}
	return ""
}

// EnvironmentNames are folder names that say that their siblings are environments too.
var environmentNames = []string{"staging", "prod", "production", "dev"}

// NotDeployedAmong is NotDeployed with a look at the neighbours: a folder that
// stands beside "staging" or "prod" is an environment, whatever it is called.
// Exists says whether a folder is in the tree.
func NotDeployedAmong(dir string, exists func(dir string) bool) string {
	reason := NotDeployed(dir)
	if reason == "" || reason == "hidden folder" {
		return reason
	}
	segments := strings.Split(path.Clean(dir), "/")
	for i, s := range segments {
		if notDeployed[s] == "" || i > 0 && slices.Contains(environmentParents, segments[i-1]) {
			continue
		}
		parent := strings.Join(segments[:i], "/")
		if !slices.ContainsFunc(environmentNames, func(n string) bool { return n != s && exists(path.Join(parent, n)) }) {
			return reason
		}
	}
	return ""
}
