//go:build unix

package tempstore

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// giveAway gives files to somebody else if they are root's, as PostgreSQL refuses to be run
// by root.
func giveAway(files ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("it refuses to be run by root, and there is nobody else: run the demo as another user: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Chown(file, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// runAsOwner has cmd run by whom the folder belongs to.
func runAsOwner(cmd *exec.Cmd, folder string) {
	info, err := os.Stat(folder)
	if err != nil {
		return // cmd says so as well
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
	}
}
