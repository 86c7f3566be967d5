#!/bin/sh
# Builds a small OpenTelemetry collector (main.go) from the Go module proxy into a cache outside the checkout, once:
# go.mod beside this file says which version, go.sum what every module must hash to. Some two minutes of a processor,
# one and a half where Dolt was built before. Newer versions need a module that the proxy does not have everywhere.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's|.*go.opentelemetry.io/collector/otelcol v||p' "$here/go.mod")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/otelcol
binary=$folder/otelcol-$version

if [ ! -x "$binary" ]; then
  if ! command -v go >/dev/null; then
    echo "The collector is built with Go 1.26 or newer, and there is no go here (or point OTELCOL_PATH at one)." >&2
    exit 1
  fi
  mkdir -p "$folder"
  making=$folder/.making-$$
  trap 'rm -f "$making"' EXIT
  (cd "$here" && GOFLAGS=-mod=readonly nice go build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=$version" -o "$making" .)
  mv "$making" "$binary"
  ln -sfn "otelcol-$version" "$folder/otelcol"
fi
echo "$binary"
