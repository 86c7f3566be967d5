#!/bin/sh
# Builds Dolt from the Go module proxy into a cache outside the checkout, once: go.mod beside this file says which
# version, go.sum what every module must hash to. Tests and `palimpsest dolt start` find the binary there.
# Needs Go and the headers of ICU. Says the path of the binary as its last line.
set -eu

VERSION=2.2.0
here=$(cd "$(dirname "$0")" && pwd)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/dolt
binary=$folder/dolt-$VERSION

if [ -x "$binary" ]; then
  echo "Dolt $VERSION is there already:"
  echo "$binary"
  exit 0
fi

if ! command -v go >/dev/null; then
  echo "Dolt is built with Go 1.26 or newer, and there is no go here. Get it from https://go.dev/dl" >&2
  echo "(or point PALIMPSEST_DOLT at a dolt of your own)." >&2
  exit 1
fi

if [ ! -e /usr/include/unicode/uregex.h ] && command -v apt-get >/dev/null; then
  echo "Installing libicu-dev, whose headers Dolt's regular expressions need"
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -qq && $as_root apt-get install -y -qq libicu-dev
fi

mkdir -p "$folder"
making=$folder/.making-$$
trap 'rm -f "$making"' EXIT

# The module proxy answers "too many requests" to a cold cache now and then: what has arrived is kept, so try again.
attempt=1
until (cd "$here" && GOFLAGS=-mod=readonly go mod download); do
  if [ "$attempt" -ge 8 ]; then
    echo "The modules could not be downloaded. Try again later." >&2
    exit 1
  fi
  sleep $((attempt * 5))
  attempt=$((attempt + 1))
done

echo "Building Dolt $VERSION: several minutes, once"
(cd "$here" && GOFLAGS=-mod=readonly nice go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$making" github.com/dolthub/dolt/go/cmd/dolt)
mv "$making" "$binary"
ln -sfn "dolt-$VERSION" "$folder/dolt"
echo "$binary"
