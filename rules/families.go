package rules

import (
	"slices"
	"strings"
)

// This file is no rule: it finds units that are the same thing in several places,
// by their names.

// A family is a set of units whose names differ in one part: "apps/web/*" with
// prod-eu and prod-us.
type family struct {
	pattern string
	members []string // sorted names of units
}

// environmentParents are folders whose entries are environments or clusters.
var environmentParents = map[string]bool{
	"overlays": true, "overlay": true, "environments": true, "environment": true, "envs": true, "env": true, "clusters": true, "cluster": true,
	"rings": true, "regions": true, "sites": true, "stages": true, "deployments": true, "cells": true,
}

// environmentWords are words that name an environment, as a whole token of a name.
var environmentWords = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`prod production prd live stag staging stage stg preprod uat qa perf perftest aat test testing int integration integ dev devel
		development sandbox sbox sbx demo preview canary nonprod dr hub mgmt us eu ap sa ca me af emea apac amer east west north south central cell ring region`) {
		out[w] = true
	}
	return out
}()

// familiesOf groups names of units that differ in one part between slashes, three
// at least: where that part stands below a folder of environments, bears words or
// numbers of environments, or comes back under several names. Each unit is in one
// family at most.
func familiesOf(names []string) []family {
	groups := map[string][]string{} // by pattern
	values := map[string][]string{} // the parts that the star stands for, by pattern
	recurs := map[string]int{}      // patterns under which a part stands
	var order []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		for i := range parts {
			pattern := strings.Join(slices.Concat(parts[:i], []string{"*"}, parts[i+1:]), "/")
			if groups[pattern] == nil {
				order = append(order, pattern)
			}
			groups[pattern] = append(groups[pattern], name)
			values[pattern] = append(values[pattern], parts[i])
		}
	}
	for _, pattern := range order {
		if len(groups[pattern]) >= 2 {
			for _, v := range values[pattern] {
				recurs[v]++
			}
		}
	}
	rank := func(pattern string) int {
		before, _, _ := strings.Cut(pattern, "*")
		parent := strings.TrimSuffix(before, "/")
		parent = parent[strings.LastIndexByte(parent, '/')+1:]
		worded, recurring := 0, 0
		for _, v := range values[pattern] {
			if namesEnvironment(v) {
				worded++
			}
			if recurs[v] >= 3 {
				recurring++
			}
		}
		switch n := len(values[pattern]); {
		case recurring == n:
			return 0
		case worded == n:
			return 1
		case environmentParents[parent]:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	taken := map[string]bool{}
	var out []family
	for _, pattern := range order {
		var members []string
		for _, name := range groups[pattern] {
			if !taken[name] {
				members = append(members, name)
			}
		}
		if len(members) < 3 || rank(pattern) == 3 {
			continue
		}
		for _, name := range members {
			taken[name] = true
		}
		slices.Sort(members)
		out = append(out, family{pattern, members})
	}
	return out
}

// namesEnvironment says whether a part of a name has a word of an environment or
// ends in a number.
func namesEnvironment(part string) bool {
	tokens := strings.FieldsFunc(strings.ToLower(part), func(r rune) bool { return strings.ContainsRune("-_.", r) })
	for _, t := range tokens {
		if environmentWords[strings.TrimRight(t, "0123456789")] {
			return true
		}
	}
	last := part[max(0, len(part)-1):]
	return len(part) > 1 && last >= "0" && last <= "9"
}
