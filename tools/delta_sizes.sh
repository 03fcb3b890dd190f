#!/usr/bin/env bash
# Writes the table of sizes into docs/delta.md: `make delta_sizes`.
#
#   delta_sizes.sh PROGRAM
#
# PROGRAM is delta_sizes.
set -euo pipefail
program=$1
cd "$(dirname "$0")/.."
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

first='<!-- sizes -->'
last='<!-- end of sizes -->'
{
  echo "$first"
  "$program"
  echo "$last"
} > "$new/sizes"
# The old lines go, the new ones come where the first of them was.
sed -e "/^$first$/r $new/sizes" -e "/^$first$/,/^$last$/d" docs/delta.md > "$new/delta.md"
cp "$new/delta.md" docs/delta.md
