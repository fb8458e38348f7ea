#!/bin/sh
# Runs a program of the project with the Node that `npm ci` brings. Where npm has no such package for
# the platform, or was told to leave it out, the Node of the machine runs it when it is new enough.
root=$(dirname "$(realpath "$0")")/..
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/node_modules/.cache/node}"
node=$root/node_modules/.bin/node
version=$("$node" --version 2>/dev/null) || {
  node=node
  version=$(node --version 2>/dev/null) || version='none is installed'
}
case $version in
v2[6-9].* | v[3-9][0-9].*) ;;
*)
  echo "Node 26 or newer is needed ($version): run \"npm ci\", which brings it with the optional packages, or install it from nodejs.org." >&2
  exit 1
  ;;
esac
exec "$node" --disable-warning=TimeoutNegativeWarning "$@"
