// Inspecting a node's store. store_change.go has the commands that change one.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/memberstate"
)

func newStore() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Inspect the store of a node, make one, or raise a term in it"}
	cmd.AddCommand(newInspect(), newStoreCreate(), newStoreRaise())
	return cmd
}

func newInspect() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a store holds, and whether it can be used",
		Long: `Show what a store holds, and whether it can be used. The store is only read. A node
may be using it; a save that it is just writing may then show as torn. If the store
cannot be used, the command says why, shows what could be read, and fails.`,
		Example: `  hustings store inspect /var/lib/hustings/n0.store`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := memberstate.InspectFile(args[0])
			if info.Version == 0 {
				return err
			}
			if asJSON {
				return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(storeJSON(info, err)), err)
			}
			return errors.Join(printStore(cmd.OutOrStdout(), &info), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on one line")
	return cmd
}

func printStore(w io.Writer, info *memberstate.FileInfo) error {
	fmt.Fprintf(w, "node        %s\nformat      %d\ngeneration  %d\nsaves       %d\nsize        %d bytes, %d of them used\n",
		info.Node, info.Version, info.Generation, info.Saves, info.Size, info.Used)
	if info.Next > 0 {
		fmt.Fprintf(w, "next        %d bytes, prepared for when this file is full\n", info.Next)
	} else {
		fmt.Fprintf(w, "next        no file is prepared for when this one is full\n")
	}
	for _, d := range info.Damaged {
		fmt.Fprintf(w, "damaged     one copy of the %d bytes at offset %d; it is mended when the store is opened\n", d.Bytes, d.Offset)
	}
	if info.Mended > 0 {
		fmt.Fprintf(w, "mended      %d sectors of 512 bytes since the store was made; look at its disk\n", info.Mended)
	}
	if info.Torn {
		fmt.Fprintf(w, "torn        the last save was cut short; nobody relied on it\n")
	}
	own, groups := apart(info)
	if own.Term > 0 {
		fmt.Fprintf(w, "starts      %d\n", own.Term)
	}
	if own.KeepsDrained() {
		fmt.Fprintf(w, "kept        the node begins drained when it is started, until: hustings undrain\n")
	}
	if own.Outdated() {
		fmt.Fprintf(w, "outdated    another node has seen a later start of this one: do not use the store again\n")
	}
	_, err := fmt.Fprintf(w, "groups      %d\n", len(groups))
	for _, r := range groups {
		vote := "no vote"
		if r.Vote != "" {
			vote = "voted for " + r.Vote
		}
		_, err = fmt.Fprintf(w, "  %-20s term %-8d %s\n", r.Group, r.Term, vote)
	}
	return err
}

// apart takes the record of the node itself, whose term is how often it was started, apart from those of groups.
func apart(info *memberstate.FileInfo) (own memberstate.Record, groups []memberstate.Record) {
	for _, r := range info.Records {
		if r.Group == "" {
			own = r
		} else {
			groups = append(groups, r)
		}
	}
	return own, groups
}

type storedGroup struct {
	Group        string `json:"group"`
	Term         uint64 `json:"term"`
	Vote         string `json:"vote"`
	PromiseNanos int64  `json:"promise_nanos"`
	Voters       string `json:"voters"` // in hexadecimal: scripts round large numbers
}

type storedSpan struct {
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

type storeInfo struct {
	Node       string        `json:"node"`
	Version    uint32        `json:"version"`
	Generation uint64        `json:"generation"`
	Saves      uint64        `json:"saves"`
	Size       int64         `json:"size_bytes"`
	Used       int64         `json:"used_bytes"`
	Next       int64         `json:"next_bytes"`
	Damaged    []storedSpan  `json:"damaged"`
	Mended     uint64        `json:"mended_sectors"`
	Torn       bool          `json:"torn"`
	Error      string        `json:"error,omitempty"`
	Starts     uint64        `json:"starts"`             // of its process, if it counts them
	Kept       bool          `json:"kept,omitempty"`     // it begins drained
	Outdated   bool          `json:"outdated,omitempty"` // it must not be used again
	Groups     []storedGroup `json:"groups"`
}

func storeJSON(info memberstate.FileInfo, err error) storeInfo {
	own, groups := apart(&info)
	s := storeInfo{
		Node: info.Node, Version: info.Version, Generation: info.Generation, Saves: info.Saves,
		Size: info.Size, Used: info.Used, Next: info.Next, Damaged: []storedSpan{}, Mended: info.Mended, Torn: info.Torn, Starts: uint64(own.Term), Kept: own.KeepsDrained(), Outdated: own.Outdated(), Groups: []storedGroup{},
	}
	for _, d := range info.Damaged {
		s.Damaged = append(s.Damaged, storedSpan(d))
	}
	if err != nil {
		s.Error = err.Error()
	}
	for _, r := range groups {
		s.Groups = append(s.Groups, storedGroup{r.Group, uint64(r.Term), r.Vote, int64(r.Promise), fmt.Sprintf("%016x", r.Voters)})
	}
	return s
}
