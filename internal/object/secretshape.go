package object

import "strings"

// A shape is how tokens of one issuer look: a prefix, then a number of characters.
// They are those that the issuers document for secret scanning
// (https://docs.github.com/en/code-security/reference/secret-security/supported-secret-scanning-patterns).
type shape struct {
	prefix   string
	min, max int  // characters after the prefix; a max of 0 is none
	chars    byte // which: see shape.match
	mixed    bool // must have small and capital letters and digits
}

// The kinds of characters that a token is made of.
const (
	alnum  = iota // letters and digits
	upper         // capitals and digits
	lowHex        // hex digits in small letters
	word          // letters, digits and _
	dash          // letters, digits, _ and -
	dots          // letters, digits, _, - and .
)

// shapesByFirst gives the shapes that begin with a byte.
var shapesByFirst = func() (byFirst [256][]shape) {
	for _, s := range shapes {
		byFirst[s.prefix[0]] = append(byFirst[s.prefix[0]], s)
	}
	return byFirst
}()

var shapes = []shape{
	// AWS access keys
	{"AKIA", 16, 16, upper, false}, {"ASIA", 16, 16, upper, false}, {"ABIA", 16, 16, upper, false}, {"ACCA", 16, 16, upper, false},
	// GitHub, GitLab
	{"ghp_", 36, 0, alnum, false}, {"gho_", 36, 0, alnum, false}, {"ghu_", 36, 0, alnum, false}, {"ghs_", 36, 0, alnum, false}, {"ghr_", 36, 0, alnum, false}, {"github_pat_", 22, 0, word, false},
	{"glpat-", 20, 0, dots, false}, {"gldt-", 20, 0, dash, false}, {"glrt-", 20, 0, dots, false}, {"glptt-", 20, 0, dash, false}, {"glsoat-", 20, 0, dash, false}, {"glcbt-", 20, 0, dash, false}, {"glft-", 20, 0, dash, false}, {"glimt-", 20, 0, dash, false}, {"glagent-", 20, 0, dash, false},
	// Slack
	{"xoxa-", 10, 0, dash, false}, {"xoxb-", 10, 0, dash, false}, {"xoxe-", 10, 0, dash, false}, {"xoxe.", 10, 0, dots, false}, {"xoxo-", 10, 0, dash, false}, {"xoxp-", 10, 0, dash, false}, {"xoxr-", 10, 0, dash, false}, {"xoxs-", 10, 0, dash, false}, {"xapp-", 10, 0, dash, false},
	// OpenAI, Anthropic, Hugging Face, Replicate
	{"sk-", 20, 0, dash, true}, {"hf_", 30, 0, alnum, true}, {"r8_", 30, 0, alnum, true},
	// Stripe
	{"sk_live_", 16, 0, alnum, false}, {"sk_test_", 16, 0, alnum, false}, {"rk_live_", 16, 0, alnum, false}, {"rk_test_", 16, 0, alnum, false}, {"whsec_", 16, 0, alnum, false},
	// Google
	{"AIza", 35, 0, dash, false}, {"GOCSPX-", 20, 0, dash, false}, {"ya29.", 20, 0, dash, false},
	// package registries
	{"npm_", 36, 0, alnum, false}, {"pypi-AgE", 50, 0, dash, false}, {"dckr_pat_", 20, 0, dash, false}, {"rubygems_", 40, 0, lowHex, false}, {"AKCp", 60, 0, alnum, false}, {"nuget_", 40, 0, alnum, false}, {"oy2", 43, 43, alnum, true},
	// HashiCorp, age
	{"hvs.", 20, 0, dash, false}, {"hvb.", 20, 0, dash, false}, {"hvr.", 20, 0, dash, false}, {"AGE-SECRET-KEY-1", 20, 0, upper, false},
	// monitoring and data
	{"glsa_", 32, 0, word, false}, {"glc_", 32, 0, alnum, false}, {"NRAK-", 20, 0, alnum, false}, {"sntrys_", 20, 0, word, false}, {"sntryu_", 20, 0, word, false}, {"dapi", 32, 32, lowHex, false}, {"SG.", 60, 0, dots, true},
	// others
	{"dop_v1_", 64, 0, lowHex, false}, {"doo_v1_", 64, 0, lowHex, false}, {"shpat_", 32, 0, alnum, false}, {"shpss_", 32, 0, alnum, false}, {"shpca_", 32, 0, alnum, false}, {"lin_api_", 30, 0, alnum, false}, {"ATATT3", 50, 0, dash, false}, {"ATCTT3", 50, 0, dash, false},
	{"tskey-", 16, 0, dash, false}, {"sq0csp-", 40, 0, dash, false}, {"pscale_tkn_", 30, 0, dots, false}, {"pscale_pw_", 30, 0, dots, false}, {"figd_", 30, 0, dash, false}, {"sbp_", 40, 0, lowHex, false}, {"PMAK-", 50, 0, dash, false}, {"key-", 32, 32, lowHex, false}, {"ops_eyJ", 100, 0, dash, false}, {"sl.", 100, 0, dash, false}, {"EAACEdEose0cBA", 10, 0, alnum, false},
	// JSON Web Tokens: three parts
	{"eyJ", 30, 0, dots, false},
}

// match gives the length of the token that s begins with, 0 when there is none.
func (sh shape) match(s string) int {
	end := len(sh.prefix)
	var small, capital, digit bool
	for end < len(s) {
		c := s[end]
		if !sh.has(c) {
			break
		}
		small, capital, digit = small || isLower(c), capital || isUpper(c), digit || isDigit(c)
		end++
	}
	n := end - len(sh.prefix)
	if n < sh.min || sh.max > 0 && n > sh.max || sh.mixed && !(small && capital && digit) {
		return 0
	}
	if sh.prefix == "eyJ" && !isJWT(s[:end]) {
		return 0
	}
	return end
}

func (sh shape) has(c byte) bool {
	switch sh.chars {
	case upper:
		return isUpper(c) || isDigit(c)
	case lowHex:
		return isDigit(c) || c >= 'a' && c <= 'f'
	case word:
		return isAlnum(c) || c == '_'
	case dash:
		return isAlnum(c) || c == '_' || c == '-'
	case dots:
		return isAlnum(c) || c == '_' || c == '-' || c == '.'
	}
	return isAlnum(c)
}

// isJWT says whether s has the parts of a signed token: header, claims, signature.
func isJWT(s string) bool {
	parts := strings.Split(s, ".")
	return len(parts) >= 3 && strings.HasPrefix(parts[1], "eyJ") && len(parts[2]) >= 10 || len(parts) == 5
}
