package object

import (
	"slices"
	"sync"
)

// A Set is all objects of one unit on one side, in the order of Ref.Compare. It
// never changes after NewSet; a nil Set is empty.
type Set struct {
	objects    []*Object
	byKind     map[string][]*Object
	duplicates []*Object
	relations  func() *relations // made on first use
}

// NewSet sorts objects and indexes them. Where several bear one name, the last
// one in the given order counts, as it would with kubectl apply; the others are
// in Duplicates.
func NewSet(objects []*Object) *Set {
	s := &Set{objects: slices.Clone(objects), byKind: make(map[string][]*Object)}
	slices.SortStableFunc(s.objects, func(a, b *Object) int { return a.Ref.Compare(b.Ref) })
	kept := s.objects[:0]
	for i, o := range s.objects {
		if i+1 < len(s.objects) && s.objects[i+1].Ref == o.Ref {
			s.duplicates = append(s.duplicates, o)
			continue
		}
		kept = append(kept, o)
	}
	clear(s.objects[len(kept):])
	s.objects = kept
	for _, o := range s.objects {
		s.byKind[o.Ref.GroupKind()] = append(s.byKind[o.Ref.GroupKind()], o)
	}
	s.relations = sync.OnceValue(func() *relations { return newRelations(s) })
	return s
}

// All gives the objects in order. The slice is the set's own: do not change it.
func (s *Set) All() []*Object {
	if s == nil {
		return nil
	}
	return s.objects
}

// Len is the number of objects.
func (s *Set) Len() int { return len(s.All()) }

// Get gives the object of that name, nil when there is none.
func (s *Set) Get(ref Ref) *Object {
	if s == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(s.objects, ref, func(o *Object, ref Ref) int { return o.Ref.Compare(ref) })
	if !ok {
		return nil
	}
	return s.objects[i]
}

// Kind gives the objects of one kind, named as Ref.GroupKind names it, in order.
func (s *Set) Kind(groupKind string) []*Object {
	if s == nil {
		return nil
	}
	return s.byKind[groupKind]
}

// Duplicates gives the objects that another one of the same name replaced.
func (s *Set) Duplicates() []*Object {
	if s == nil {
		return nil
	}
	return s.duplicates
}
