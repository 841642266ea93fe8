// Judges whether histories of registers are linearizable: linearizable FILE...
//
// A file has an operation a line, as ring_registers.erl writes it. For each file the program prints
// a line of JSON: what it has judged, and the keys without a linearization. It exits with 1 if there
// are any, or if some could not be judged in time, and with 2 if a file cannot be read.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Of one file.
const timeout = 10 * time.Minute

// Times are of one clock, in any unit. Value 0 is that of a register never written, or deleted.
type operation struct {
	Key    int    `json:"key"`
	Client int    `json:"client"`
	Kind   string `json:"kind"`
	Value  int    `json:"value"`
	Call   int64  `json:"call"`
	// Null: without an answer; it may take effect at any time, or never.
	Return *int64 `json:"return"`
}

type verdict struct {
	File       string `json:"file"`
	Operations int    `json:"operations"`
	Keys       int    `json:"keys"`
	Wrong      []int  `json:"wrong"`
	Unknown    []int  `json:"unknown"`
}

var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		asked := input.(operation)
		if asked.Kind == "write" {
			return true, asked.Value
		}
		return asked.Value == state, state
	},
}

func read(name string) (map[int][]porcupine.Operation, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := json.NewDecoder(file)
	lines.DisallowUnknownFields()
	found := map[int][]porcupine.Operation{}
	for number := 1; ; number++ {
		var asked operation
		if err := lines.Decode(&asked); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("operation %d: %w", number, err)
		}
		if asked.Kind != "read" && asked.Kind != "write" {
			return nil, fmt.Errorf("operation %d: kind must be read or write, not %q", number, asked.Kind)
		}
		ended := int64(math.MaxInt64)
		if asked.Return != nil {
			ended = *asked.Return
		} else if asked.Kind == "read" {
			return nil, fmt.Errorf("operation %d: a read without an answer: leave it out", number)
		}
		found[asked.Key] = append(found[asked.Key], porcupine.Operation{
			ClientId: asked.Client, Input: asked, Call: asked.Call, Return: ended,
		})
	}
}

func judge(name string) (verdict, error) {
	keys, err := read(name)
	if err != nil {
		return verdict{}, err
	}
	found := verdict{File: name, Keys: len(keys), Wrong: []int{}, Unknown: []int{}}
	deadline := time.Now().Add(timeout)
	for key, history := range keys {
		found.Operations += len(history)
		left := max(time.Until(deadline), time.Millisecond)
		switch porcupine.CheckOperationsTimeout(register, history, left) {
		case porcupine.Illegal:
			found.Wrong = append(found.Wrong, key)
		case porcupine.Unknown:
			found.Unknown = append(found.Unknown, key)
		}
	}
	slices.Sort(found.Wrong)
	slices.Sort(found.Unknown)
	return found, nil
}

func main() {
	status := 0
	for _, name := range os.Args[1:] {
		found, err := judge(name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(2)
		}
		if len(found.Wrong)+len(found.Unknown) > 0 {
			status = 1
		}
		if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
			panic(err)
		}
	}
	os.Exit(status)
}
