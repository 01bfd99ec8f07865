// Renders prompts and reads calls with Ollama's own packages, for test_module.py.
package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/template"
	"github.com/ollama/ollama/tools"
)

type asked struct {
	Template string
	Messages []api.Message
	Tools    api.Tools
	Answer   string
}

type made struct {
	Vars    []string       `json:"vars"`
	Prompt  string         `json:"prompt"`
	Calls   []api.ToolCall `json:"calls"`
	Content string         `json:"content"`
}

func read(one asked) (made, error) {
	parsed, err := template.Parse(one.Template)
	if err != nil {
		return made{}, err
	}
	vars, err := parsed.Vars()
	if err != nil {
		return made{}, err
	}
	var prompt bytes.Buffer
	if err := parsed.Execute(&prompt, template.Values{Messages: one.Messages, Tools: one.Tools}); err != nil {
		return made{}, err
	}
	found := made{Vars: vars, Prompt: prompt.String()}
	parser := tools.NewParser(parsed.Template, one.Tools)
	for _, letter := range one.Answer {
		calls, content := parser.Add(string(letter))
		found.Calls = append(found.Calls, calls...)
		found.Content += content
	}
	found.Content += parser.Content()
	return found, nil
}

func main() {
	var all []asked
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	found := []made{}
	for _, one := range all {
		read, err := read(one)
		if err != nil {
			panic(err)
		}
		found = append(found, read)
	}
	json.NewEncoder(os.Stdout).Encode(found)
}
