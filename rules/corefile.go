package rules

import (
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads what the rules on cluster DNS need of a Corefile
// (https://coredns.io/manual/toc/#configuration).

// A corePlugin is one plugin of a server block with its arguments, and the lines of
// its own block, such as max_concurrent of forward.
type corePlugin struct {
	args    []string
	options map[string][]string
}

// A coreBlock is what one server block does, by the names of its plugins. Where
// one stands several times, as forward may, the first counts.
type coreBlock map[string]corePlugin

// parseCorefile gives the server blocks by their zones, such as ".:53". Text that is
// no Corefile gives what can be made of it, never an error.
func parseCorefile(text string) map[string]coreBlock {
	blocks := make(map[string]coreBlock)
	var zones, plugin string
	depth := 0
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "}" {
			depth = max(0, depth-1)
			continue
		}
		opens := words[len(words)-1] == "{"
		if opens {
			words = words[:len(words)-1]
		} else if last := words[len(words)-1]; strings.HasSuffix(last, "{") && depth == 0 {
			words[len(words)-1], opens = strings.TrimSuffix(last, "{"), true
		}
		switch depth {
		case 0:
			zones = strings.Join(words, " ")
			if blocks[zones] == nil {
				blocks[zones] = make(coreBlock)
			}
		case 1:
			if len(words) == 0 {
				break
			}
			plugin = words[0]
			if _, ok := blocks[zones][plugin]; !ok {
				blocks[zones][plugin] = corePlugin{args: words[1:], options: make(map[string][]string)}
			}
		default:
			if p, ok := blocks[zones][plugin]; ok && len(words) > 0 {
				p.options[words[0]] = words[1:]
			}
		}
		if opens {
			depth++
		}
	}
	return blocks
}

// number gives an option's or the plugin's first number, 0 when there is none.
func number(words []string) int64 {
	for _, w := range words {
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// corefiles gives the keys of a ConfigMap that hold a Corefile, with their texts.
func corefiles(o *object.Object) map[string]string {
	out := make(map[string]string)
	for key, v := range o.At("data").Fields() {
		if strings.Contains(strings.ToLower(key), "corefile") {
			out[key] = v.Text()
		}
	}
	return out
}

// dnsImages are the last parts of the images that serve cluster DNS.
var dnsImages = map[string]bool{
	"coredns": true, "k8s-dns-node-cache": true, "k8s-dns-kube-dns": true, "k8s-dns-kube-dns-amd64": true,
	"k8s-dns-dnsmasq-nanny": true, "k8s-dns-dnsmasq-nanny-amd64": true, "node-local-dns": true,
}

// servesDNS says whether a workload is the cluster's DNS: by the label that all of
// CoreDNS, kube-dns and NodeLocal DNS come with, or by the image.
func servesDNS(w object.Workload) bool {
	switch w.PodLabels["k8s-app"] {
	case "kube-dns", "coredns", "node-local-dns":
		return true
	}
	for _, c := range w.Running() {
		image, _, _ := strings.Cut(c.Image(), "@")
		image = image[strings.LastIndexByte(image, '/')+1:]
		image, _, _ = strings.Cut(image, ":")
		if dnsImages[image] {
			return true
		}
	}
	return false
}
