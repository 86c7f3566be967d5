#!/bin/sh
# Real agents for the tests of the proxy, at fixed versions, in a cache folder outside the checkout.
#
#   scripts/clients.sh install    gets them (some 1.6 GB; nothing is done for what is there already)
#   scripts/clients.sh python     gets those in Python (aider and mini-swe-agent, another 1.4 GB) for npm run bench:checked-clients
#   scripts/clients.sh test       runs the tests in a network namespace that has only loopback
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
clients=${PALIMPSEST_CLIENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/clients}
PATH="$here/node_modules/.bin:$PATH"
export PATH

install() {
  mkdir -p "$clients"
  cd "$clients"
  [ -f package.json ] || printf '{ "private": true }\n' > package.json
  for package in \
    @anthropic-ai/claude-code@2.1.325 \
    @openai/codex@0.166.0 \
    opencode-ai@1.18.33 \
    @earendil-works/pi-coding-agent@0.87.1 \
    @google/gemini-cli@0.61.0 \
    @qwen-code/qwen-code@0.24.4 \
    @openai/agents@0.20.0 \
    @google/genai@2.21.0
  do
    name=${package%@*}
    have=$(node -p "require('./node_modules/$name/package.json').version" 2>/dev/null || true)
    [ "$have" = "${package##*@}" ] || npm install --no-audit --no-fund --save-exact "$package" \
      || echo "clients: $package cannot be installed; its tests will be skipped" >&2
  done
  # The native binaries are fetched by these scripts, which npm may have held back.
  [ ! -f node_modules/@anthropic-ai/claude-code/install.cjs ] || node node_modules/@anthropic-ai/claude-code/install.cjs
  [ ! -f node_modules/opencode-ai/postinstall.mjs ] || node node_modules/opencode-ai/postinstall.mjs
}

# One environment each: their dependencies exclude each other. mini-swe-agent does not start without mcp.
install_python() {
  python_client aider aider-chat==0.86.2
  python_client mini mini-swe-agent==2.4.6 mcp
}

python_client() {
  place="$clients/python/$1"
  shift
  [ ! -f "$place/installed" ] || [ "$(cat "$place/installed")" != "$*" ] || return 0
  python3.11 -m venv "$place"
  "$place/bin/pip" install --quiet --no-input uv==0.13.8
  "$place/bin/uv" pip install --quiet --python "$place/bin/python" "$@"
  echo "$*" > "$place/installed"
}

run_tests() {
  export PALIMPSEST_CLIENTS="$clients"
  cd "$here"
  if unshare -rn true 2>/dev/null; then
    exec unshare -rn sh -c 'ip link set lo up && exec node --test test/doors/proxy/clients.test.ts test/doors/commands/install-clients.test.ts test/plugins/plugins.test.ts'
  fi
  echo 'clients: no network namespaces here, so the agents run with the network that there is' >&2
  exec node --test test/doors/proxy/clients.test.ts test/doors/commands/install-clients.test.ts test/plugins/plugins.test.ts
}

case ${1:-} in
  install) install ;;
  python) install_python ;;
  test) run_tests ;;
  *) echo "usage: $0 install|python|test" >&2; exit 2 ;;
esac
