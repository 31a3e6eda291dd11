// Argo CD's application-controller and repo-server, and a Redis in memory for the two, chosen by argv[0].
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/util/log"
)

func main() {
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	name := filepath.Base(os.Args[0])
	if v := os.Getenv("ARGOCD_BINARY_NAME"); v != "" {
		name = v
	}
	if name == "argocd-redis" {
		serveRedis(os.Args[1])
		return
	}
	var c *cobra.Command
	switch name {
	case common.CommandApplicationController:
		c = appcontroller.NewCommand()
	case common.CommandRepoServer:
		c = reposerver.NewCommand()
	case common.CommandGitAskPass:
		c = gitaskpass.NewCommand()
	default:
		fmt.Fprintln(os.Stderr, "unknown name", name)
		os.Exit(2)
	}
	if err := c.Execute(); err != nil {
		os.Exit(1)
	}
}

// serveRedis listens on the address until the process is ended. Nothing in it expires: tests are short.
func serveRedis(address string) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}
