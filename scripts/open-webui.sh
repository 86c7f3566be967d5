#!/bin/sh
# OpenWebUI for the test of /agent/v1, at a fixed version, in a cache folder outside the checkout.
#
#   scripts/open-webui.sh install    gets it (Python 3.11; some 2 GB, once)
#   scripts/open-webui.sh test       drives it in a browser, with a scripted model behind our server
#
# By uv: pip takes a quarter of an hour to find versions that fit. PyTorch and CUDA (4 GB) are left out: only its own
# embedding of documents needs them.
set -eu

version=0.12.4
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
place=${PALIMPSEST_OPEN_WEBUI:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/open-webui}
PATH="$here/node_modules/.bin:$PATH"
export PATH

install() {
  [ "$("$place/bin/pip" show open-webui 2>/dev/null | sed -n 's/^Version: //p')" = "$version" ] && return
  python3.11 -m venv "$place"
  "$place/bin/pip" install --quiet --no-input uv==0.13.8
  echo "open-webui==$version" | "$place/bin/uv" pip compile --quiet --python "$place/bin/python" --no-annotate - |
    grep -Ev '^(nvidia-|triton|torch|cuda)' >"$place/requirements.txt"
  "$place/bin/uv" pip install --quiet --python "$place/bin/python" --no-deps -r "$place/requirements.txt"
}

run_test() {
  if [ ! -x "$place/bin/open-webui" ]; then
    echo 'open-webui: not installed, so its test is skipped (scripts/open-webui.sh install)' >&2
    return
  fi
  cd "$here"
  PALIMPSEST_OPEN_WEBUI="$place" exec node --test test/e2e/open-webui.test.ts
}

case ${1:-} in
  install) install ;;
  test) run_test ;;
  *) echo "usage: $0 install|test" >&2; exit 2 ;;
esac
