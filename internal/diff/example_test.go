package diff_test

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

func ExampleCompare() {
	read := func(text string) *object.Set {
		objects, _ := object.Parse("prod", "cache.yaml", []byte(text))
		return object.NewSet(objects)
	}
	before := read(`{apiVersion: v1, kind: Service, metadata: {name: cache}, spec: {selector: {app: cache}}}`)
	after := read(`{apiVersion: v1, kind: Service, metadata: {name: cache}, spec: {type: ClusterIP, selector: {app: cache, zone: a}}}`)
	for _, c := range diff.Compare(before, after, diff.Options{}) {
		fmt.Println(c.Action, c.Ref)
		for _, f := range c.Fields {
			fmt.Printf("%s %s %q hidden by %q\n", f.Op, f.Path, f.After, f.Hidden)
		}
		for _, e := range c.Effects {
			fmt.Println(e.Kind+":", e.Text)
		}
	}
	// Output:
	// update Service cache
	// add spec.selector.zone "a" hidden by ""
	// add spec.type "ClusterIP" hidden by "api-defaults"
	// traffic: endpoints are recomputed at once, long before a rollout of the same merge is done
}
