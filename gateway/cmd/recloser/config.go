package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

func (p *program) configCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "config",
		Short: "Show the settings in force, the schema of the file, or an example",
		Example: `  recloser config init > recloser.yaml
  recloser config show -c recloser.yaml
  recloser config schema > recloser.schema.json`,
	}, p.configShowCommand(), p.configSchemaCommand(), p.configInitCommand())
}

// configShow is a command line of recloser config show.
type configShow struct {
	connection
	printing
	file    string
	running bool
}

func (p *program) configShowCommand() *cobra.Command {
	var c configShow
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every setting in force, and where it comes from",
		Example: `  recloser config show -c recloser.yaml
  RECLOSER_LISTEN=:9090 recloser config show | grep listen
  recloser config show --running -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.configShow(cmd, c) },
	}
	flags := cmd.Flags()
	grouped(flags, "Which", func(flags *pflag.FlagSet) {
		flags.StringVarP(&c.file, "config", "c", "recloser.yaml", "of this `file`, as serve would")
		flags.BoolVar(&c.running, "running", false, "of the running gateway; needs an admin's token")
	})
	c.printing.flags(flags, formTable, formJSON, formYAML)
	c.connection.flags(flags)
	return cmd
}

func (p *program) configShow(cmd *cobra.Command, c configShow) error {
	if err := c.check(); err != nil {
		return err
	}
	settings, body, err := c.settings(cmd)
	if err != nil {
		return err
	}
	if c.form != formTable {
		return writeDocument(p.stdout, c.form, body)
	}
	t := table{head: []string{"SETTING", "VALUE", "FROM"}}
	for _, s := range settings {
		t.add(cell{s.Path, ""}, cell{s.Value, ""}, cell{s.Origin, faint})
	}
	return t.write(p.stdout, c.look(p.stdout))
}

// settings returns them, and as JSON.
func (c *configShow) settings(cmd *cobra.Command) ([]config.Setting, []byte, error) {
	type list struct {
		Settings []config.Setting `json:"settings"`
	}
	if !c.running {
		file, err := config.Load(c.file, config.Environment()...)
		if err != nil {
			return nil, nil, exit{exitBadConfig, err}
		}
		all := list{file.Show()}
		body, err := json.Marshal(all)
		return all.Settings, body, err
	}
	if cmd.Flags().Changed("config") {
		return nil, nil, badUsage("--running is about the running gateway: leave out -c")
	}
	api, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	answer, err := api.Get(cmd.Context(), "config", nil)
	if err != nil {
		return nil, nil, err
	}
	var all list
	return all.Settings, answer.Body, answer.Into(&all)
}

func (p *program) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of the config file, for editors",
		Example: `  recloser config schema > recloser.schema.json
  recloser config schema | jq .properties.routes
  echo '# yaml-language-server: $schema=recloser.schema.json' >> recloser.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = p.stdout.Write(append(schema, '\n'))
			return err
		},
	}
}

func (p *program) configInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented config file to begin with",
		Example: `  recloser config init
  recloser config init recloser.yaml
  recloser config init > /etc/recloser/recloser.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-" {
				_, err := fmt.Fprint(p.stdout, config.Example())
				return err
			}
			return p.configInit(args[0])
		},
	}
}

// configInit never writes over what is there.
func (p *program) configInit(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and stays as it is: name another file", name)
	}
	if err != nil {
		return fmt.Errorf("the file cannot be written: %w", err)
	}
	_, err = file.WriteString(config.Example())
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("the file cannot be written: %w", err), os.Remove(name))
	}
	fmt.Fprintf(p.stderr, "%s is written: put your dependencies in, then recloser check %[1]s\n", name)
	return nil
}
