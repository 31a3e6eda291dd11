#!/usr/bin/env bash
# Builds etcd and Kubernetes' control plane from their Go modules into the user's cache folder, once for each set of sums,
# and prints the folder. About five minutes on two cores the first time, nothing after that. KUBEBUILDER_ASSETS goes first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then echo "$KUBEBUILDER_ASSETS"; exit; fi
version=1.36.3
sums=$(cat "$here"/*/go.sum "$0" | sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/berth/control-plane-$version-$sums
mkdir -p "$(dirname "$folder")"
# Two suites that start at once build once.
if command -v flock >/dev/null; then exec 9>"$folder.lock" && flock 9; fi
if [ ! -x "$folder/kube-controller-manager" ]; then
  command -v go >/dev/null || {
    echo "A real control plane needs either KUBEBUILDER_ASSETS (a folder with etcd, kube-apiserver and kube-controller-manager) or Go 1.26 to build one." >&2
    exit 1
  }
  echo "building the control plane $version into $folder" >&2
  mkdir -p "$folder.new"
  export CGO_ENABLED=0 GOFLAGS=-mod=mod GOTOOLCHAIN=local
  base=k8s.io/component-base/version
  flags="-s -w -X $base.gitVersion=v$version -X $base.gitMajor=1 -X $base.gitMinor=36"
  (cd "$here/etcd" && go build -trimpath -ldflags "-s -w" -o "$folder.new/etcd" go.etcd.io/etcd/server/v3) >&2
  (cd "$here/kube" && go build -trimpath -ldflags "$flags" -o "$folder.new/" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager) >&2
  rm -rf "$folder" && mv "$folder.new" "$folder"
fi
echo "$folder"
