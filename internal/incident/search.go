package incident

import (
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Match is an entry that was found, and why.
type Match struct {
	Incident
	Reason string  `json:"reason,omitempty"` // in words, such as "same field, same software"
	Score  float64 `json:"-"`                // higher is better; comparable within one answer only
}

// maxQuery is how many different words of a query are looked at. A finding's
// text has a few dozen.
const maxQuery = 256

// Search gives the n entries that say most about the words, best first, then
// newest first; n <= 0 means all. Words are compared by their stems in the id,
// title, organisation, software, symptoms, change, mechanism, impact, lesson,
// topics and kinds. A query without a word that the library knows finds nothing.
func (l *Library) Search(words string, n int) []Match {
	if i, ok := l.Get(strings.TrimSpace(words)); ok {
		return []Match{{Incident: i, Reason: "this ID"}}
	}
	x := l.index()
	query := x.query(words)
	scores := x.scores(query)
	var out []Match
	for doc, s := range scores {
		if s.sum > 0 {
			out = append(out, Match{Incident: l.entries[doc], Score: s.sum, Reason: "says " + strings.Join(x.shared(query, doc), ", ")})
		}
	}
	return top(out, n)
}

// top sorts matches and gives copies of the first n of them.
func top(out []Match, n int) []Match {
	slices.SortStableFunc(out, func(a, b Match) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return compare(a.Incident, b.Incident)
	})
	if n > 0 && len(out) > n {
		out = out[:n]
	}
	for i := range out {
		out[i].Incident = out[i].clone()
	}
	return out
}

// An index holds what BM25 needs to know of each entry.
type index struct {
	numbers  map[string]int // of each stem
	postings [][]posting    // by the stem's number, in order of doc
	lengths  []float64      // weighted words per entry
	mean     float64
}

type posting struct {
	doc    int
	weight float64 // how often the stem is there, times the weight of its fields
}

func newIndex(entries []Incident) *index {
	x := &index{numbers: make(map[string]int, 4096), lengths: make([]float64, len(entries))}
	known := make(map[string][]int, 4096) // most names come again and again
	for doc, e := range entries {
		add := func(weight float64, texts ...string) {
			for _, t := range texts {
				for name := range names(t) {
					list, ok := known[name]
					if !ok {
						list = x.number(name)
						known[name] = list
					}
					for _, n := range list {
						x.count(n, doc, weight)
					}
				}
			}
		}
		add(3, e.Title)
		add(2, e.Org, strings.ReplaceAll(e.ID, "-", " "))
		add(2, e.Software...)
		add(2, e.Symptoms...)
		add(1, e.Change, e.Mechanism, e.Impact, e.Lesson)
		add(1, e.Topics...)
		add(1, e.Rules...)
		add(1, e.Kinds...)
		x.mean += x.lengths[doc]
	}
	if len(entries) > 0 {
		x.mean /= float64(len(entries))
	}
	return x
}

// number gives the numbers of the stems of a name, new ones where needed.
func (x *index) number(name string) []int {
	var list []int
	for _, stem := range stems(name) {
		n, ok := x.numbers[stem]
		if !ok {
			n = len(x.postings)
			x.numbers[stem] = n
			x.postings = append(x.postings, nil)
		}
		list = append(list, n)
	}
	return list
}

// count adds one occurrence of a stem in an entry, which must be the last so far.
func (x *index) count(n, doc int, weight float64) {
	x.lengths[doc] += weight
	list := x.postings[n]
	if len(list) > 0 && list[len(list)-1].doc == doc {
		list[len(list)-1].weight += weight
		return
	}
	x.postings[n] = append(list, posting{doc, weight})
}

// A term is a word of a query and the number of its stem.
type term struct {
	word string
	stem int
}

// query gives the terms of a text that the index knows, each stem once, in the
// order of the text.
func (x *index) query(text string) []term {
	var out []term
	seen := map[int]bool{}
	for word, stem := range stems(text) {
		if n, ok := x.numbers[stem]; ok && !seen[n] {
			seen[n] = true
			if out = append(out, term{word, n}); len(out) == maxQuery {
				break
			}
		}
	}
	return out
}

// A textScore is what one entry has of a query.
type textScore struct {
	sum     float64 // BM25
	covered float64 // share of the query, from 0 to 1, rare words weighing more
	words   int     // different words shared
}

// scores gives the score of every entry. Stems are added in the order of the
// query, so that the same query gives the same floating-point sums.
func (x *index) scores(query []term) []textScore {
	const k1, b = 1.2, 0.75 // the usual values, Robertson and Zaragoza 2009
	out := make([]textScore, len(x.lengths))
	var total float64
	for _, t := range query {
		list := x.postings[t.stem]
		idf := x.idf(len(list))
		total += idf
		for _, p := range list {
			tf := p.weight * (k1 + 1) / (p.weight + k1*(1-b+b*x.lengths[p.doc]/x.mean))
			out[p.doc].sum += idf * tf
			out[p.doc].covered += idf
			out[p.doc].words++
		}
	}
	if total > 0 {
		for i := range out {
			out[i].covered /= total
		}
	}
	return out
}

func (x *index) idf(docs int) float64 {
	return math.Log(1 + (float64(len(x.lengths)-docs)+0.5)/(float64(docs)+0.5))
}

// shared gives the words of the query that an entry has, at most five.
func (x *index) shared(query []term, doc int) []string {
	var out []string
	for _, t := range query {
		if _, ok := slices.BinarySearchFunc(x.postings[t.stem], doc, func(p posting, doc int) int { return p.doc - doc }); ok {
			if out = append(out, t.word); len(out) == 5 {
				break
			}
		}
	}
	return out
}

// names yields what stands between blanks and punctuation. Hyphens, underscores
// and dots are part of a name.
func names(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.'
	})
}

// stems yields the words of a text that mean something, in lower case and cut to
// their stems, in order. A name of several parts, such as node-local-dns or
// maxReplicas, yields itself, written as one word, and its parts.
func stems(text string) iter.Seq2[string, string] {
	return func(yield func(word, stem string) bool) {
		for name := range names(text) {
			parts := split(name)
			if len(parts) > 1 {
				parts = append([]string{strings.Join(parts, "")}, parts...)
			}
			for _, p := range parts {
				p = strings.ToLower(p)
				if utf8.RuneCountInString(p) < 2 || stopWords[p] {
					continue
				}
				if !yield(p, stem(p)) {
					return
				}
			}
		}
	}
}

// split takes a name apart at hyphens, underscores and dots, and where its
// capitals begin a word: max-replicas, maxReplicas and OOMKilled have two parts.
func split(name string) []string {
	var parts []string
	r := []rune(name)
	start := 0
	cut := func(end, next int) {
		if end > start {
			parts = append(parts, string(r[start:end]))
		}
		start = next
	}
	for i := range r {
		switch {
		case r[i] == '-' || r[i] == '_' || r[i] == '.':
			cut(i, i+1)
		case i > 0 && unicode.IsUpper(r[i]) && unicode.IsLower(r[i-1]):
			cut(i, i)
		case i > 0 && i+1 < len(r) && unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i]) && unicode.IsLower(r[i+1]):
			cut(i, i)
		}
	}
	cut(len(r), len(r))
	return parts
}

// endings are those of English that tell apart number and tense, longest first.
var endings = []string{"ations", "ation", "ings", "ing", "ied", "ies", "edly", "ed", "es", "s", "ly"}

// stem takes off an ending. It is cruder than Porter's and needs no table: both
// sides are cut the same way.
func stem(w string) string {
	for _, ending := range endings {
		rest, ok := strings.CutSuffix(w, ending)
		if !ok || len(rest) < 3 || ending == "s" && strings.HasSuffix(rest, "s") {
			continue
		}
		switch ending {
		case "ied", "ies":
			rest += "y"
		case "ing", "ings", "ed", "edly":
			// "dropped" and "drop", but "killing" and "kill"
			if n := len(rest); n > 3 && rest[n-1] == rest[n-2] && !strings.ContainsRune("lsz", rune(rest[n-1])) {
				rest = rest[:n-1]
			}
		}
		w = rest
		break
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e") // "remove", "removed"
	}
	return w
}

// stopWords are too common, in English or in every report on Kubernetes, to say
// what an entry is about.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after all also an and any are as at be because been before but by can
		could did do does down each for from had has have how if in into is it its kubernetes made more most new no not
		of off on one only or other out over own same set so some such than that the their them then there these they
		this to two under until up very was were what when where which while who will with without would you your`) {
		m[w] = true
	}
	return m
}()
