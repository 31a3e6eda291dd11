#!/usr/bin/env bash
# build.sh helm4|helm3|argocd|flux-helm|flux-source: builds one program from its Go module into the user's cache folder, once for
# each set of sums, and prints the folder it is in. Three to six minutes on two cores the first time, nothing after that.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
module=$1
case $module in
  helm4) program=helm package=helm.sh/helm/v4/cmd/helm ;;
  helm3) program=helm package=helm.sh/helm/v3/cmd/helm ;;
  argocd) program=argocd package=. source=github.com/argoproj/argo-cd/v3 ;;
  flux-helm) program=helm-controller package=github.com/fluxcd/helm-controller source=$package ;;
  flux-source) program=source-controller package=github.com/fluxcd/source-controller source=$package ;;
  *) echo "unknown: $module" >&2; exit 2 ;;
esac
sums=$(cat "$here/$module"/* | sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/berth/$module-$sums
if [ ! -x "$folder/$program" ]; then
  command -v go >/dev/null || { echo "$module is built from its Go module, which needs Go 1.26." >&2; exit 1; }
  echo "building $module into $folder" >&2
  # A folder of one's own: two builds at a time must not mix.
  mkdir -p "$(dirname "$folder")"
  new=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  cd "$here/$module"
  export CGO_ENABLED=0 GOTOOLCHAIN=local
  go build -mod=readonly -trimpath -ldflags "-s -w" -o "$new/$program" "$package" >&2
  # What a cluster needs for it: its kinds.
  if [ -n "${source:-}" ]; then
    sources=$(go list -mod=readonly -m -f '{{.Dir}}' "$source")
    mkdir "$new/crds"
    case $module in
      argocd)
        install -m644 "$sources"/manifests/crds/{application,appproject}-crd.yaml "$new/crds"
        for name in repo-server application-controller git-ask-pass redis; do ln -s argocd "$new/argocd-$name"; done
        ;;
      *) install -m644 "$sources"/config/crd/bases/*.yaml "$new/crds" ;;
    esac
  fi
  chmod 755 "$new"
  rm -rf "$folder" && mv "$new" "$folder"
fi
echo "$folder"
