// Adding up the parts of a campaign that ran on several machines.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func newMerge() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Add up the results of several simulations",
		Long: `Add up the results of several simulations. Each file holds the output of hustings sim
--json: one object or several, one a line. They must be parts of one campaign: the same
flags, except for those that choose seeds; no seed twice; and no shard missing if the
campaign was divided by --shard.

Exit codes: 0 all is well, 1 one of them has a violation or they do not belong together,
2 the command line is wrong, 3 one of them was interrupted, with nothing wrong so far.`,
		Example: `  hustings sim --shard 0/2 --json > a.json
  hustings sim --shard 1/2 --json > b.json
  hustings merge a.json b.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return merge(cmd.OutOrStdout(), args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

func merge(out io.Writer, files []string, asJSON bool) error {
	total := &simReport{Complete: true, Failing: []uint64{}, Replay: []string{}}
	for _, name := range files {
		if err := mergeFile(total, name); err != nil {
			return err
		}
	}
	var err error
	if total.Covers, err = joined(total.Covers); err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(out).Encode(total)
	} else {
		err = total.print(out)
	}
	switch {
	case err != nil:
		return err
	case total.Violations > 0:
		return fmt.Errorf("%d runs broke an election; see the first one with: %s", total.Violations, total.Replay[0])
	case !total.Complete:
		return unfinishedError{fmt.Errorf("not complete: %s", total.Stopped)}
	}
	return nil
}

func mergeFile(total *simReport, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	reports := json.NewDecoder(file)
	for number := 1; ; number++ {
		var r simReport
		switch err := reports.Decode(&r); {
		case err == io.EOF && number > 1:
			return nil
		case err != nil:
			return fmt.Errorf("%s: object %d: %w", name, number, err)
		}
		if err := total.add(&r, name); err != nil {
			return fmt.Errorf("%s: object %d: %w", name, number, err)
		}
	}
}
