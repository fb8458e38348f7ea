#!/usr/bin/env bash
# Tries the README as a newcomer does: a fresh clone, empty caches, each block pasted in order. The
# default ports must be free. With --test it runs the block of the tests too.
set -euo pipefail
from=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
export APP_CACHE_DIR=$work/cache npm_config_cache=$work/npm
end() {
  if [ -n "${start:-}" ]; then
    kill -INT -- "-$start" && wait "$start" || true
  fi
  rm -rf "$work"
}
trap end EXIT
git clone --quiet "$from" "$work/clone"
cd "$work/clone"
# blocks BEGINNING: the code of the blocks that begin so
blocks() { awk -v begin="$1" '/^```/ { on = ($0 == begin); next } on' README.md; }

echo "== the block that starts the system"
set -m
bash -vc "$(blocks '```sh no-run' | grep 'npm start')" >"$work/start.log" 2>&1 &
start=$!
set +m
while kill -0 "$start" 2>/dev/null && ! grep -qs 'ready in' "$work/start.log"; do sleep 1; done
cat "$work/start.log"
kill -0 "$start"

echo "== the other blocks"
# curl takes an error for an answer otherwise
echo fail-with-body >"$work/.curlrc"
blocks '```sh' | CURL_HOME=$work bash -ev 2>&1

if [ "${1:-}" = --test ]; then
  echo "== the block of the tests"
  bash -vc "$(blocks '```sh no-run' | grep 'npm test')"
fi
echo "== Ctrl-C"
kill -INT -- "-$start"
wait "$start"
start=
tail -3 "$work/start.log"
