#!/usr/bin/env bash
# Runs Schemathesis against the server's OpenAPI document, twice: with tokens required (does the gate hold?), and
# without, on a session and a block that exist (do the routes behind it hold?). Without Python or its registry it says so
# and skips. The report of a failure has a line to reproduce it. The seed is fixed and the number of requests does not depend
# on the speed of the machine, so that it does not fail by luck; `SEED=random` tries new requests.
#
#   [SEED=random] scripts/schemathesis.sh [EXAMPLES for each route, 10]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/node_modules/.bin:$PATH"

VERSION=4.32.5
EXAMPLES="${1:-10}"
SEED="${SEED:-20261118}"
[ "$SEED" != random ] || SEED="$(date +%s)"
VENV="${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/schemathesis-$VERSION"

skip() {
  echo "skipped: Schemathesis. $1"
  exit 0
}

install() {
  [ -x "$VENV/bin/schemathesis" ] && return
  command -v python3 >/dev/null || skip 'There is no python3.'
  rm -rf "$VENV"
  python3 -m venv "$VENV" >/dev/null 2>&1 || skip 'python3 has no venv module (apt: python3-venv).'
  "$VENV/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION" || {
    rm -rf "$VENV"
    skip "PyPI did not give schemathesis $VERSION."
  }
}

FOLDER="$(mktemp -d)"
SERVER=
stop() {
  if [ -n "$SERVER" ]; then kill "$SERVER" 2>/dev/null && wait "$SERVER" 2>/dev/null; fi
  SERVER=
  return 0
}
trap 'stop; rm -rf "$FOLDER"' EXIT

# Starts a server on a home of its own; URL is where it listens.
start() {
  local out="$FOLDER/$1.out"
  node src/cli.ts serve --sample --port 0 --rate 0 --home "$FOLDER/$1" "${@:2}" >"$out" 2>"$FOLDER/$1.err" &
  SERVER=$!
  for _ in $(seq 200); do
    URL="$(sed -n 's/^Palimpsest is at //p' "$out")"
    [ -n "$URL" ] && return
    sleep 0.1
  done
  cat "$FOLDER/$1.err" >&2
  return 1
}

# A stream never ends, and a revoked token would end the run.
check() {
  (cd "$FOLDER" && "$VENV/bin/schemathesis" --config-file "$1" run "$URL/openapi.json" --max-examples "$EXAMPLES" --seed "$SEED" \
    --exclude-path /events --suppress-health-check all --warnings off "${@:2}")
}

install
# A body over the limit is refused with 413 and an address over it with 431: the defaults do not count these as refusals.
# The schema of an upload says that it is bytes. It cannot say which bytes are a transcript. In the same way, it cannot say
# which patterns the engine of JavaScript takes.
cat >"$FOLDER/gate.toml" <<'TOML'
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, 431, "5xx"]

[[operations]]
include-path-regex = "^/(import|redactions)$"
checks.positive_data_acceptance.enabled = false
TOML
# The second run replaces every name in a path by one that exists. So a request to a session that was just created goes to
# another one, and a request that was invalid only by such a name is valid.
{
  cat "$FOLDER/gate.toml"
  printf '\n[checks.ensure_resource_availability]\nenabled = false\n'
  printf '\n[parameters]\n"path.session" = "sample"\n"path.user" = "alice"\n"path.label" = "goals"\n'
} >"$FOLDER/inside.toml"
cat >"$FOLDER/hooks.py" <<'PYTHON'
import schemathesis


@schemathesis.hook
def filter_case(context, case):
    replaced = getattr(case.meta.phase.data, "parameter", None) in ("session", "user", "label")
    return not (case.meta.generation.mode.is_negative and replaced)
PYTHON

TOKEN="$(node src/cli.ts token create --user root --role admin --home "$FOLDER/gate" 2>/dev/null | awk 'END { print $NF }')"
start gate --require-token
check "$FOLDER/gate.toml" -H "Authorization: Bearer $TOKEN" --exclude-path '/tokens/{token}' \
  --phases coverage,fuzzing
stop

start inside
curl -sf -X PUT -H 'Content-Type: application/json' -d '{"body":"Learn Go.\n"}' "$URL/users/alice/blocks/goals" >/dev/null
SCHEMATHESIS_HOOKS=hooks check "$FOLDER/inside.toml" --phases coverage,fuzzing,stateful
stop
