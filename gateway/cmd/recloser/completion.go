package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

const (
	completeWithin = 500 * time.Millisecond // somebody has pressed a key and waits
	completeFrom   = "recloser.yaml"        // where no gateway answers
)

// names are what a word on the command line may be.
type names int

const (
	idsOnly names = iota
	idsAndGroups
	groupsOnly
)

// complete offers the names that the running gateway has, or else the config file
// of this folder.
func (c *connection) complete(which names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ids, groups := c.known(cmd.Context())
		var words []string
		if which != groupsOnly {
			words = append(words, ids...)
		}
		if which != idsOnly {
			words = append(words, groups...)
		}
		words = slices.DeleteFunc(words, func(w string) bool {
			return w == "" || w != plain.Line(w) || !strings.HasPrefix(w, begun) || slices.Contains(args, w)
		})
		slices.Sort(words)
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
	}
}

// known never fails: where nothing is known, nothing is offered.
func (c *connection) known(ctx context.Context) (ids, groups []string) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	if _, seen, err := c.fetch(ctx); err == nil {
		for _, d := range seen.all {
			ids, groups = append(ids, d.Value.ID), append(groups, d.Value.Group)
		}
		return ids, groups
	}
	if file, err := config.Load(completeFrom); err == nil {
		for _, d := range file.Dependencies {
			ids, groups = append(ids, d.ID), append(groups, d.Group)
		}
	}
	return ids, groups
}

// describeCompletion gives cobra's own command the words of the others.
func describeCompletion(root *cobra.Command) {
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Short = "Have the shell complete commands, flags and dependencies"
	completion.Long = ""
	completion.Example = `  source <(recloser completion bash)                 # in this shell
  recloser completion zsh > "${fpath[1]}/_recloser"  # in every new one
  recloser completion fish > ~/.config/fish/completions/recloser.fish`
	for _, shell := range completion.Commands() {
		name := shell.Name()
		shell.Long = ""
		shell.Short = "Write the completion for " + name
		shell.Example = map[string]string{
			"bash": `  source <(recloser completion bash)
  recloser completion bash > /etc/bash_completion.d/recloser
  recloser completion bash --no-descriptions > recloser.bash`,
			"zsh": `  source <(recloser completion zsh)
  recloser completion zsh > "${fpath[1]}/_recloser"
  recloser completion zsh --no-descriptions > _recloser`,
			"fish": `  recloser completion fish | source
  recloser completion fish > ~/.config/fish/completions/recloser.fish
  recloser completion fish --no-descriptions | source`,
			"powershell": `  recloser completion powershell | Out-String | Invoke-Expression
  recloser completion powershell >> $PROFILE
  recloser completion powershell --no-descriptions > recloser.ps1`,
		}[name]
	}
}
