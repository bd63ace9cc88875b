package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render/helm"
)

// fileNames are the names of a kustomization file, in kustomize's order
// (konfig.RecognizedKustomizationFileNames).
var fileNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// A kustomization is what a scan needs of a kustomization file: everything that
// names another file. Kustomize itself reads the rest.
type kustomization struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Resources    []string `json:"resources"`
	Bases        []string `json:"bases"`
	Components   []string `json:"components"`
	Generators   []string `json:"generators"`
	Transformers []string `json:"transformers"`
	Validators   []string `json:"validators"`

	CRDs                  []string          `json:"crds"`
	Configurations        []string          `json:"configurations"`
	OpenAPI               map[string]string `json:"openapi"`
	Patches               []fileRef         `json:"patches"`
	PatchesStrategicMerge []string          `json:"patchesStrategicMerge"`
	PatchesJSON6902       []fileRef         `json:"patchesJson6902"`
	Replacements          []fileRef         `json:"replacements"`
	ConfigMapGenerator    []generator       `json:"configMapGenerator"`
	SecretGenerator       []generator       `json:"secretGenerator"`

	HelmGlobals struct {
		ChartHome string `json:"chartHome"`
	} `json:"helmGlobals"`
	HelmCharts []helmChart `json:"helmCharts"`
	HelmOld    []oldChart  `json:"helmChartInflationGenerator"`
}

type fileRef struct {
	Path string `json:"path"`
}

type generator struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
	Envs  []string `json:"envs"`
	Env   string   `json:"env"`
}

// A ref is one entry of a kustomization that names another file or folder.
type ref struct {
	field  string
	value  string // as written
	folder bool   // may be a folder with a kustomization
	inline bool   // may be YAML instead of a name
}

func (k *kustomization) refs() []ref {
	var out []ref
	add := func(field string, folder, inline bool, values ...string) {
		for _, v := range values {
			if v != "" {
				out = append(out, ref{field, v, folder, inline})
			}
		}
	}
	add("resources", true, false, k.Resources...)
	add("bases", true, false, k.Bases...)
	add("components", true, false, k.Components...)
	add("generators", true, true, k.Generators...)
	add("transformers", true, true, k.Transformers...)
	add("validators", true, true, k.Validators...)
	add("crds", false, false, k.CRDs...)
	add("configurations", false, false, k.Configurations...)
	add("openapi.path", false, false, k.OpenAPI["path"])
	add("patchesStrategicMerge", false, true, k.PatchesStrategicMerge...)
	for _, refs := range [][]fileRef{k.Patches, k.PatchesJSON6902, k.Replacements} {
		for _, r := range refs {
			add("path", false, false, r.Path)
		}
	}
	for _, gens := range [][]generator{k.ConfigMapGenerator, k.SecretGenerator} {
		for _, g := range gens {
			for _, f := range g.Files {
				add("files", false, false, keyless(f))
			}
			add("envs", false, false, g.Envs...)
			add("env", false, false, g.Env)
		}
	}
	for _, c := range k.HelmCharts {
		add("helmCharts.valuesFile", false, false, c.ValuesFile)
		add("helmCharts.additionalValuesFiles", false, false, c.AdditionalValuesFiles...)
	}
	for _, c := range k.HelmOld {
		add("helmChartInflationGenerator.values", false, false, c.Values)
	}
	return out
}

// keyless gives the file of a generator's entry, which may be "key=file".
func keyless(entry string) string {
	if _, file, ok := strings.Cut(entry, "="); ok {
		return file
	}
	return entry
}

// remote matches what kustomize would fetch instead of reading it from the tree,
// also where a file of that name exists (loader.IsRemoteFile, git.NewRepoSpecFromURL).
var remote = regexp.MustCompile(`(?i)^(?:https?:|git::|ssh://|file://|[a-z][a-z0-9-]*@|github\.com[/:])|://`)

// A scan is what building one folder would read, found without building it.
type scan struct {
	tree    *source.Tree
	extra   map[string][]byte // files that are not in the tree, or are others there
	files   []string
	dirs    []string
	missing []string
	built   []string                  // folders that build to configurations of plugins
	visited map[string]*kustomization // by folder
	order   []string                  // folders, in the order visited
	names   map[string]string         // by folder, the name of its kustomization file
	errs    []error                   // why the build would fail or must not be tried
	absent  []error                   // files that are named and not there
	needs   []need                    // what lies outside of the repository
	// secretGenerators counts, by file, the generators that decrypt Secrets.
	secretGenerators map[string]int
	openapi          bool // a schema is named, which kustomize keeps for the whole process
}

// A need is something outside of the repository that a kustomization names. All
// else can be built without it when it is a resource.
type need struct {
	dir, entry string // the kustomization's folder, and the entry as written
	text       string // what is needed, and how to have it
	resource   bool
	chart      *helm.Need // when it is one
}

// scanFolder walks from the kustomization in dir through everything it names.
func scanFolder(t *source.Tree, dir string) *scan { return scanWith(t, dir, nil) }

// scanWith is scanFolder with some files added to the tree, or replaced in it.
func scanWith(t *source.Tree, dir string, extra map[string][]byte) *scan {
	s := &scan{tree: t, extra: extra, visited: map[string]*kustomization{}, names: map[string]string{}, secretGenerators: map[string]int{}}
	s.folder(dir)
	slices.Sort(s.files)
	s.files = slices.Compact(s.files)
	slices.Sort(s.missing)
	s.missing = slices.Compact(s.missing)
	slices.Sort(s.dirs)
	s.dirs = slices.Compact(s.dirs)
	return s
}

func (s *scan) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// dropped gives the entries of the kustomization in dir that it is built without.
func (s *scan) dropped(dir string) map[string]bool {
	out := map[string]bool{}
	for _, n := range s.needs {
		if n.dir == dir && n.resource {
			out[n.entry] = true
		}
	}
	for _, g := range s.visited[dir].Generators {
		if s.secretGenerators[path.Join(dir, g)] > 0 {
			out[g] = true
		}
	}
	return out
}

// needed gives what is not in the repository, in one text; "" when all is there.
func (s *scan) needed() string {
	var texts []string
	for _, n := range s.needs {
		texts = append(texts, n.text)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\n")
}

// folder reads the kustomization of one folder.
func (s *scan) folder(dir string) {
	if _, ok := s.visited[dir]; ok {
		return
	}
	k, file, absent, err := readKustomization(files{s.tree, s.extra}, dir)
	s.missing = append(s.missing, absent...)
	s.visited[dir] = k
	if file != "" {
		s.files = append(s.files, file)
		s.names[dir] = file
	}
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	s.order = append(s.order, dir)
	if k.OpenAPI["path"] != "" || k.OpenAPI["version"] != "" {
		s.openapi = true
	}
	for _, r := range k.refs() {
		s.ref(dir, file, r)
	}
	s.charts(dir, file, k)
}

// readKustomization reads the kustomization of dir. Absent are the names that
// were looked for and not found.
func readKustomization(f files, dir string) (k *kustomization, file string, absent []string, err error) {
	k = &kustomization{}
	var data []byte
	for _, base := range fileNames {
		at := path.Join(dir, base)
		d, err := f.ReadFile(at)
		if err != nil {
			absent = append(absent, at)
			continue
		}
		if file != "" {
			return k, file, absent, fmt.Errorf("%s: two kustomization files in one folder: %s and %s", dir, path.Base(file), base)
		}
		file, data = at, d
	}
	if file == "" {
		return k, "", absent, fmt.Errorf("%s: no kustomization.yaml there", dir)
	}
	if err := yaml.Unmarshal(data, k); err != nil {
		return k, file, absent, fmt.Errorf("%s: %w", file, err)
	}
	return k, file, absent, nil
}

// ref follows one entry of the kustomization file in dir.
func (s *scan) ref(dir, file string, r ref) {
	if r.inline && strings.ContainsAny(r.value, "\n{") {
		s.pluginConfig(dir, file, r.field, []byte(r.value))
		return
	}
	if remote.MatchString(r.value) {
		s.needs = append(s.needs, need{dir: dir, entry: r.value, resource: r.folder,
			text: fmt.Sprintf("%s: %s: needs remote base %s: prdiff renders without network; vendor it into the repository", file, r.field, r.value)})
		return
	}
	if path.IsAbs(r.value) {
		s.fail("%s: %s: absolute path %s: name files relative to the kustomization", file, r.field, r.value)
		return
	}
	at := path.Join(dir, r.value)
	if at == ".." || strings.HasPrefix(at, "../") {
		s.fail("%s: %s: %s leads outside the repository", file, r.field, r.value)
		return
	}
	if _, added := s.extra[at]; added {
		return
	}
	info, err := s.tree.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.missing = append(s.missing, at)
		s.absent = append(s.absent, fmt.Errorf("%s: %s: refers to %s, which is not in the repository", file, r.field, r.value))
	case err != nil:
		s.missing = append(s.missing, at)
		s.fail("%s: %s: %s: %w", file, r.field, r.value, plain(err))
	case info.IsDir() && r.folder:
		if slices.Contains(pluginFields, r.field) {
			// What the folder builds to says which files the plugins read.
			s.built = append(s.built, at)
		}
		s.folder(at)
	case info.IsDir():
		s.fail("%s: %s: %s is a folder, not a file", file, r.field, r.value)
	default:
		s.files = append(s.files, at)
		if slices.Contains(pluginFields, r.field) {
			data, err := s.tree.ReadFile(at)
			if err != nil {
				s.fail("%s: %w", at, err)
				return
			}
			s.pluginConfig(dir, at, r.field, data)
		}
	}
}

// pluginFields are the fields of a kustomization that hold configurations of plugins.
var pluginFields = []string{"generators", "transformers", "validators"}

// fileKeys are the fields of builtin plugins that name files.
var fileKeys = []string{"files", "envs", "env", "path", "paths", "values", "valuesFile"}

// pluginConfig looks through the configuration of generators and transformers:
// only kustomize's own run, and none of them may fetch anything. The files that it
// names are relative to dir, the folder of the kustomization that uses it, wherever
// it stands itself (KustTarget.configureExternalGenerators hands on its loader).
func (s *scan) pluginConfig(dir, file, field string, data []byte) {
	if field == "patchesStrategicMerge" {
		return
	}
	for _, doc := range documents.Split(string(data), -1) {
		var config map[string]any
		if yaml.Unmarshal([]byte(doc), &config) != nil || config == nil {
			continue // kustomize says what is wrong
		}
		if version, _ := config["apiVersion"].(string); version != "" && version != "builtin" {
			kind, _ := config["kind"].(string)
			if field == "generators" && strings.HasPrefix(version, "viaduct.ai/") {
				// https://github.com/viaduct-ai/kustomize-sops: it decrypts, which
				// nothing here can or should.
				s.secretGenerators[file]++
				continue
			}
			s.fail("%s: %s: needs the plugin %s %s: prdiff runs no plugins, functions or programs from a repository; commit what it generates", file, field, version, kind)
		}
		s.pluginFiles(dir, file, field, config)
	}
}

var documents = regexp.MustCompile(`(?m)^---\s*$`)

func (s *scan) pluginFiles(dir, file, field string, config any) {
	switch x := config.(type) {
	case map[string]any:
		for key, v := range x {
			if slices.Contains(fileKeys, key) {
				for _, f := range texts(v) {
					f = keyless(f)
					if remote.MatchString(f) {
						s.needs = append(s.needs, need{dir: dir, entry: f,
							text: fmt.Sprintf("%s: %s: needs remote file %s: prdiff renders without network; vendor it into the repository", file, field, f)})
					} else if at := path.Join(dir, f); !fs.ValidPath(at) {
						continue // no file of the tree
					} else if s.tree.Exists(at) {
						s.files = append(s.files, at)
					} else {
						s.missing = append(s.missing, at)
					}
				}
			}
			s.pluginFiles(dir, file, field, v)
		}
	case []any:
		for _, v := range x {
			s.pluginFiles(dir, file, field, v)
		}
	}
}

func texts(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, item := range x {
			out = append(out, texts(item)...)
		}
		return out
	}
	return nil
}
