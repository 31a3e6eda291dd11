// Command golden runs Go's own text/template over cases and writes what it gives, as the standard that the
// TypeScript engine is held to:
//
//	go run . > ../testdata/template-goldens.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

type result struct {
	Template string `json:"template"`
	Context  string `json:"context"`
	Output   string `json:"output,omitempty"`
	// Error is "parse", "render" or absent.
	Error string `json:"error,omitempty"`
}

// decode reads a context as Kubernetes does: whole numbers are ints, others float64.
func decode(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return lift(value)
}

func lift(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return int(n)
		}
		f, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return f
	case []any:
		for i := range value {
			value[i] = lift(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = lift(value[key])
		}
	}
	return value
}

func run(source, name, context string) (made result) {
	made = result{Template: source, Context: name}
	parsed, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		made.Error = "parse"
		return made
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, decode(context)); err != nil {
		made.Error = "render"
		return made
	}
	made.Output = out.String()
	return made
}

func main() {
	contexts := map[string]json.RawMessage{}
	for name, text := range contextTexts {
		contexts[name] = json.RawMessage(text)
	}
	var results []result
	seen := map[string]bool{}
	add := func(source, context string) {
		if key := context + "\x00" + source; !seen[key] {
			seen[key] = true
			results = append(results, run(source, context, contextTexts[context]))
		}
	}
	for _, source := range written {
		add(source, "plain")
	}
	for _, source := range generated(20260101, 600) {
		add(source, "plain")
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"contexts": contexts, "cases": results}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
