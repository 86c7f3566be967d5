#!/bin/sh
# Other proxies for `npm run bench:proxy`, at fixed versions, each in a Python environment of its own outside the
# checkout. Nothing is done for what is there already; what cannot be had is left out of the benchmark.
set -eu

peers=${PALIMPSEST_PROXY_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/proxy-peers}

get() {
  name=$1 program=$2
  shift 2
  [ -f "$peers/$name/installed" ] && [ "$(cat "$peers/$name/installed")" = "$*" ] && return 0
  # One chain, because `set -e` is off inside a function that is tried with ||.
  rm -rf "${peers:?}/$name" &&
    mkdir -p "$peers" &&
    python3 -m venv "$peers/$name" &&
    "$peers/$name/bin/pip" install --quiet --disable-pip-version-check "$@" &&
    [ -x "$peers/$name/bin/$program" ] &&
    echo "$*" > "$peers/$name/installed"
}

get litellm litellm 'litellm[proxy]==1.106.2' || echo 'proxy-peers: LiteLLM cannot be installed; the benchmark skips it' >&2
get headroom headroom 'headroom-ai[proxy]==0.42.0' || echo 'proxy-peers: headroom cannot be installed; the benchmark skips it' >&2
