#!/bin/sh
# LiteLLM for the test of /v1/compress, at a fixed version, in a cache folder outside the checkout.
#
#   scripts/litellm.sh install    gets it (Python 3.11; some 740 MB, once)
#
# The test is among those of npm run test:slow.
set -eu

version=1.106.2
place=${PALIMPSEST_LITELLM:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/litellm}

install() {
  [ "$("$place/bin/pip" show litellm 2>/dev/null | sed -n 's/^Version: //p')" = "$version" ] && return
  python3.11 -m venv "$place"
  "$place/bin/pip" install --quiet --no-input uv==0.13.8
  "$place/bin/uv" pip install --quiet --python "$place/bin/python" "litellm[proxy]==$version"
}

case ${1:-} in
  install) install ;;
  *) echo "usage: $0 install" >&2; exit 2 ;;
esac
