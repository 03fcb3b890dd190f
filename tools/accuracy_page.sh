#!/usr/bin/env bash
# Holds docs/accuracy.md, and its first lines in README.md, against what the command prints.
#
#   accuracy_page.sh PROGRAM            1 if they differ
#   accuracy_page.sh PROGRAM --write    writes both; `make accuracy`
#
# PROGRAM is refit.
set -euo pipefail
program=$1
mode=${2:-}
cd "$(dirname "$0")/.."
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

"$program" validate --page > "$new/accuracy.md"
first='<!-- headline -->'
last='<!-- end of headline -->'
sed -n "/^$first$/,/^$last$/p" "$new/accuracy.md" > "$new/headline"
# The old lines go, the new ones come where the first of them was.
sed -e "/^$first$/r $new/headline" -e "/^$first$/,/^$last$/d" README.md > "$new/README.md"

for page in docs/accuracy.md README.md; do
  made=$new/$(basename "$page")
  if [[ $mode == --write ]]; then
    cp "$made" "$page"
  elif ! diff -u "$page" "$made"; then
    echo "accuracy_page: $page is not what the command prints: run make accuracy"
    exit 1
  fi
done
