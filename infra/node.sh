#!/bin/sh
# Runs a program of the project with the Node that `npm ci` brings. Where npm has no such package for
# the platform, or was told to leave it out, the Node of the machine runs it when it is new enough.
root=$(dirname "$(realpath "$0")")/..
if ! [ -d "$root/node_modules" ]; then
  echo "The packages are missing: run \"npm ci\" in $(realpath "$root")." >&2
  exit 1
fi
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/node_modules/.cache/node}"
found=none
# npm 9 installs the package without a link in .bin
for node in "$root/node_modules/.bin/node" "$root"/node_modules/node-*-*/bin/node node; do
  version=$("$node" --version 2>/dev/null) || continue
  case $version in
  v2[6-9].* | v[3-9][0-9].*) exec "$node" --disable-warning=TimeoutNegativeWarning "$@" ;;
  esac
  found=$version
done
echo "Node 26 or newer is needed, and this machine has $found: run \"npm ci\" with optional packages, which bring it, or install it from nodejs.org." >&2
exit 1
