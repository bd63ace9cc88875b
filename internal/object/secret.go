package object

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
)

// Mask is what stands in every output where a secret was. It is not valid
// base64, so a masked Secret that is applied by mistake is refused by the API
// server instead of stored.
const Mask = "***"

// A Masked is a text of which all or a part is secret. It can be compared with
// another one of the same run, and shown without the secret; what it hides is
// not kept.
type Masked struct {
	Shown string // the text with each secret part replaced by Mask
	sum   [sha256.Size]byte
}

// Same says whether two masked texts hide the same secret.
func (m *Masked) Same(o *Masked) bool {
	return m.Shown == o.Shown && m.sum == o.sum
}

// runKey keys the hashes of one run, so that a hash that would leak says nothing
// about the secret behind it.
var runKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails since Go 1.24
	return key
})

func newMasked(shown, secret string) *Masked {
	mac := hmac.New(sha256.New, runKey())
	mac.Write([]byte(secret))
	m := &Masked{Shown: shown}
	mac.Sum(m.sum[:0])
	return m
}

// mask replaces what is secret in o by Masked values, in place.
func (o *Object) mask() {
	if o.Ref.Kind != "Secret" || o.Ref.Group != "" {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, ok := o.root[field].(map[string]any)
		if !ok {
			continue
		}
		for k, v := range values {
			values[k] = newMasked(Mask, Value{v}.String())
		}
	}
}
