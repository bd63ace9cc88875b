package clientparam

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A pattern recognises names that no table has: METRICS_RECONNECT_BACKOFF_MS.
type pattern struct {
	category Category
	danger   []Danger
	text     string // over the words of the name, joined by _
}

// patterns are tried in this order.
var patterns = []pattern{
	{Reconnect, []Danger{TooSmall}, `re_?connect(ion|ions|s|ing)?|re_?dial`},
	{Backoff, []Danger{TooSmall}, `back_?offs?`},
	{Backoff, []Danger{TooSmall}, `(retry|interval|delay)_?(multiplier|factor|coefficient|exponent|base|jitter)`},
	{Backoff, []Danger{TooSmall}, `(retry|retries)_?(wait|delay|interval|period|pause|sleep)`},
	{Retry, []Danger{TooLarge}, `retry|retries|retrying|retryable|re_?tries`},
	{Retry, []Danger{TooLarge}, `(max|maximum|num|number_of|total|connect|connection|delivery)_?(attempts?|tries)`},
	{Keepalive, []Danger{TooSmall}, `(tcp_)?keep_?alives?`},
	{Keepalive, []Danger{TooSmall}, `(heart_?beats?|ping)_?(interval|period|time_?out|frequency|every|ms|secs?|seconds|rate|time)`},
	{ConnectTimeout, []Danger{TooSmall, TooLarge}, `(connect|connection|conn|dial|handshake|tls_handshake|socket_connect|login|setup|establish)_?(time_?out|deadline|limit)`},
	{ConnectTimeout, []Danger{TooSmall, TooLarge}, `time_?out_connect`},
	{RequestTimeout, []Danger{TooSmall, TooLarge}, `time_?out_(server|client|queue|tunnel|http_request|http_keep_alive)`},
	{RequestTimeout, []Danger{TooSmall, TooLarge}, `(request|req|read|write|send|recv|receive|response|call|query|statement|command|socket|client|upstream|backend|rpc|per_try|try|io|remote|http|operation|api|server_selection|stream|poll)_?(time_?outs?|deadline)`},
	{DNS, []Danger{TooSmall, TooLarge}, `(dns|resolver|resolution|resolv|name_resolution)_(.*_)?(interval|refresh|refresh_rate|rate|ttl|min_time|time_?out|attempts|resolutions|max_ttl|nxdomain_ttl|hold|valid)`},
	{DNS, []Danger{Changed}, `ndots|single_request(_reopen)?|respect_dns_ttl|min_time_between_resolutions|networkaddress_cache(_negative)?_ttl`},
	{LoadBalancing, []Danger{Changed}, `(lb|load_?balanc(er|ing|e)|balancer)_?(policy|policies|strategy|algorithm|name|config|mode|method)`},
	{Pool, []Danger{TooLarge, TooSmall}, `(max|min|maximum|minimum|initial)_(idle_|open_|active_|total_|free_|client_|server_)?(conns?|connections?|sockets?|pool_size)|(conn|connection|db|database|redis|http)_?pool_(size|limit|max|min|max_size)|(conns?|connections?)_per_(host|route|node)|pool_size`},
	{Pool, []Danger{TooSmall}, `(max_)?(conn|connection|idle_conn|pool)_(max_)?(age|life_?time|idle_time|ttl)|max_(life_?time|idle_time|conn_age|connection_age)(_grace)?|conn_max_(age|life_?time|idle_time)|idle_?time_?outs?`},
	{Rate, []Danger{TooLarge}, `qps|burst|rps|rate_limit(s|_num)?|max_in_?flight(_.*)?|max_concurrent(_.*)?`},
	{Lease, []Danger{TooSmall}, `lease_duration|renew_deadline|retry_period|election_time_?out|session_time_?out|tick_?time`},
	{CircuitBreaker, []Danger{TooSmall, TooLarge}, `max_?fails|fail_?time_?out|consecutive_?(5xx(_errors)?|errors|failures|gateway_.*|local_origin_.*)|.*ejection.*`},
	{Drain, []Danger{TooSmall}, `(drain|draining|deregistration|lameduck|lame_duck|connection_draining)_?(delay|time_?out|period|duration|time|interval)`},
}

var compiled = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns {
		out = append(out, regexp.MustCompile(`(^|_)(`+p.text+`)(_|$)`))
	}
	return out
})

// policies are values that name a way of balancing.
var policies = regexp.MustCompile(`(?i)^(pick_?first|round_?robin|least_?(conn|request|requests)|ring_?hash|maglev|p2c|weighted_?round_?robin|random)$`)

// notLast are last words of names whose value is a name or an address.
var notLast = strings.Fields(`url uri urls host hostname hosts port path image name names token secret password key topic topics
queue queues exchange file dir class header headers endpoint endpoints addr address namespace label labels message text button
banner email id ids color icon title description type version group user username script command level format`)

// notAnywhere are words of names that only look like parameters: what users may
// do, what the kubelet does, how long data is kept, pools of other things.
var notAnywhere = strings.Fields(`login otp lockout signin captcha probe liveness readiness startup livenessprobe readinessprobe startupprobe
backofflimit termination grace toleration tolerations nodepool ippool addresspool thread threads worker workers keepalived vrrp
cookie retention backup schedule rotation rotate dashboard alert alerts button banner metric metrics_name billing cpu cgroup`)

// notTogether are such words side by side.
var notTogether = []string{"backoff_limit", "initial_delay", "ip_pool", "address_pool", "node_pool", "thread_pool", "worker_pool", "cache_ttl",
	"gc_interval", "reload_interval", "auth_session", "session_cookie", "active_deadline", "retry_strategy", "sync_policy", "dead_letter"}

// byPattern gives the pattern that a setting's name has and its value fits, nil
// when there is none.
func byPattern(set *Setting) *pattern {
	if len(set.words) == 0 || len(set.words) > 40 {
		return nil
	}
	if slices.Contains(notLast, set.words[len(set.words)-1]) && !policies.MatchString(set.Value) {
		return nil
	}
	for _, w := range set.words {
		if slices.Contains(notAnywhere, w) {
			return nil
		}
	}
	// Of a key path, only its end says what it is: retry.enabled is about
	// retries, retries.someone.colour is not.
	end := set.words[max(0, len(set.words)-5):]
	name := strings.Join(end, "_")
	for _, not := range notTogether {
		if strings.Contains("_"+name+"_", "_"+not+"_") {
			return nil
		}
	}
	for i, re := range compiled() {
		if re.MatchString(name) {
			if p := &patterns[i]; p.fits(ParseValue(set.Value, unitOf(set.words)), set) {
				return p
			}
			return nil
		}
	}
	return nil
}

// fits says whether a value can be one of the pattern's parameters: a number or
// a time, or the name of a policy. Switches and plain words are left alone, they
// turn features of all kinds on and off.
func (p *pattern) fits(v Value, set *Setting) bool {
	if !set.Known {
		return true
	}
	switch v.Kind {
	case Duration, Number, Unlimited:
		return p.category != LoadBalancing
	case Word:
		return p.category == LoadBalancing && policies.MatchString(v.Text)
	case Unknown:
		return true
	}
	return false
}
