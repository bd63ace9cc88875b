package render

import (
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// Nondeterministic stands in an object for a value that is another one each time
// the same files are rendered.
const Nondeterministic = object.Unsettled

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

// The reasons for which folders are left out by their names. Example is the one
// that yields when a repository has nothing else: then the examples are the product.
const (
	Example   = "example"
	TestData  = "test data"
	Hidden    = "hidden folder"
	ByItsName = "not deployed by its name"
)

// notDeployed gives, per folder name, why what lies below is not deployed.
var notDeployed = map[string]string{
	"test": TestData, "tests": TestData, "testdata": TestData, "test-data": TestData,
	"fixtures": TestData, ".fixtures": TestData, "e2e": TestData, "integration-test": TestData,
	"integration-tests": TestData, "__tests__": TestData, "golden": TestData, "fake": TestData, "mocks": TestData,
	"example": Example, "examples": Example, "sample": Example, "samples": Example, "demo": Example,
	"docs": Example, "doc": Example, "documentation": Example, "website": Example, "scenarios": Example,
	"hack": ByItsName, "scripts": ByItsName, "_scaffold": ByItsName, "_skel": ByItsName,
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
		if reason := notDeployedName(s); reason != "" {
			return reason
		}
	}
	return ""
}

func notDeployedName(segment string) string {
	if reason := notDeployed[segment]; reason != "" {
		return reason
	}
	if len(segment) > 1 && segment[0] == '.' && segment != ".." {
		return Hidden
	}
	return ""
}

// environmentNames are folder names that say that their siblings may be environments too.
var environmentNames = []string{"staging", "stage", "prod", "production", "dev", "qa", "uat", "preprod"}

// ambiguousNames are names of environments as well as of what is not deployed. A
// folder called docs is none, whatever it stands beside.
var ambiguousNames = []string{"test", "tests", "e2e", "integration-test", "integration-tests", "demo", "example", "sample"}

// NotDeployedAmong is NotDeployed with a look at the neighbours: "test" or "demo"
// beside "staging" or "prod" is an environment. Exists says whether a folder is in
// the tree.
func NotDeployedAmong(dir string, exists func(dir string) bool) string {
	if NotDeployed(dir) == "" {
		return ""
	}
	segments := strings.Split(path.Clean(dir), "/")
	for i, s := range segments {
		reason := notDeployedName(s)
		if reason == "" || i > 0 && slices.Contains(environmentParents, segments[i-1]) {
			continue
		}
		parent := strings.Join(segments[:i], "/")
		beside := func(n string) bool { return n != s && exists(path.Join(parent, n)) }
		if !slices.Contains(ambiguousNames, s) || !slices.ContainsFunc(environmentNames, beside) {
			return reason
		}
	}
	return ""
}
