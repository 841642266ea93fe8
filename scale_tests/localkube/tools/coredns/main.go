// Command coredns is CoreDNS with only the plugins that a cluster's resolver needs: the stock
// main imports every cloud provider's client and takes several times as long to compile.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func init() {
	// The order in which the plugins of a server block see a query, as in stock CoreDNS.
	dnsserver.Directives = []string{
		"reload", "bind", "ready", "health", "errors", "loadbalance", "cache", "hosts", "kubernetes",
		"forward",
	}
}

func main() {
	coremain.Run()
}
