package config

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// What a file may have: the parser takes time and memory that grow with the
// square of how deep things lie in each other, and of how many keys one mapping
// has.
const (
	maxSize  = 1 << 20
	maxDepth = 100
	maxKeys  = 10_000
)

// level is a place where keys, items or marks begin.
type level struct{ column, count int }

// tooMuch returns the first token that is beyond what a file may have and says
// why; nil if there is none.
func tooMuch(tokens token.Tokens) (at *token.Token, why string) {
	var (
		block []level // around this token
		flow  int     // brackets
		run   int     // keys and marks since a bracket or a comma
	)
	for _, t := range tokens {
		opens := t
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
			run = 0
			opens = nil
		case token.MappingEndType, token.SequenceEndType:
			flow = max(flow-1, 0)
			run = 0
			opens = nil
		case token.CollectEntryType:
			run = 0
			opens = nil
		case token.MappingValueType:
			if t.Prev != nil && t.Prev.Position.Line == t.Position.Line {
				opens = t.Prev // the key
			}
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
		default:
			opens = nil
		}
		switch {
		case opens != nil && flow > 0:
			run++
		case opens != nil:
			here := level{column: opens.Position.Column}
			for len(block) > 0 && block[len(block)-1].column >= here.column {
				if last := block[len(block)-1]; last.column == here.column {
					here.count = last.count
				}
				block = block[:len(block)-1]
			}
			if opens != t { // a key
				here.count++
			}
			block = append(block, here)
			if here.count > maxKeys {
				return opens, fmt.Sprintf("more than %d keys in one mapping", maxKeys)
			}
		}
		if len(block)+flow+run > maxDepth {
			return t, fmt.Sprintf("more than %d levels lie in each other here", maxDepth)
		}
	}
	return nil, ""
}
