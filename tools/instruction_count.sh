#!/usr/bin/env bash
# Holds the instructions of a few fixed runs against tests/instruction_counts.txt.
#
#   instruction_count.sh PROGRAM            1 if a run takes over 5 % more than is kept; 77: not comparable
#   instruction_count.sh PROGRAM --write    writes the file; `make instruction_counts`
#
# PROGRAM is count_run. Only what main() does is counted: what loads libraries is not ours. Planning
# `optimal` predicts in processes of its own, which are not counted either.
set -euo pipefail
program=$1
mode=${2:-}
cd "$(dirname "$0")/.."
kept_file=tests/instruction_counts.txt
runs=(
  'scenarios/published/qwen3_235b_h100.yaml reshard'
  'scenarios/published/deepseek_v3_h100.yaml direct'
  'scenarios/small/moe_two_racks.yaml optimal'
)

skip() {
  echo "instruction_count: not counted: $1"
  exit 77
}
command -v valgrind > /dev/null || skip 'valgrind is not installed (tools/install_packages.sh)'
build=$("$program" --build)
if [[ $mode != --write ]]; then
  kept_build=$(sed -n 's/^built: //p' "$kept_file")
  [[ $build == "$kept_build" ]] || skip "the file was written by '$kept_build', this is '$build'"
fi

count() {
  local log
  if ! log=$(valgrind --tool=callgrind --toggle-collect=main --callgrind-out-file=/dev/null \
    --child-silent-after-fork=yes "$program" "$@" 2>&1); then
    echo "$log" >&2
    return 1
  fi
  sed -n 's/^==[0-9]*== Collected : *\([0-9]*\).*/\1/p' <<< "$log"
}

failed=0
lines=()
for run in "${runs[@]}"; do
  read -r file strategy <<< "$run"
  counted=$(count "$file" "$strategy")
  [[ $counted =~ ^[1-9][0-9]*$ ]] || { echo "instruction_count: valgrind gave no count for $run" >&2; exit 1; }
  lines+=("$run $counted")
  [[ $mode != --write ]] || continue
  kept=$(awk -v run="$run" '$1 " " $2 == run { print $3 }' "$kept_file")
  [[ -n $kept ]] || { echo "instruction_count: $kept_file has no line for $run; make instruction_counts" >&2; exit 1; }
  awk -v run="$run" -v counted="$counted" -v kept="$kept" 'BEGIN {
    ratio = counted / kept
    printf "%-58s %13d, kept %13d: %+.1f %%\n", run, counted, kept, 100 * (ratio - 1)
    if (ratio > 1.05) { print "  more than 5 % above: make it cheaper, or say in the change why not and make instruction_counts"; exit 1 }
    if (ratio < 0.95) print "  more than 5 % below: make instruction_counts, so that it stays so"
  }' || failed=1
done
if [[ $mode == --write ]]; then
  {
    echo '# Instructions of main() in count_run; written by `make instruction_counts`, held by the test `instructions`.'
    echo "built: $build"
    printf '%s\n' "${lines[@]}"
  } > "$kept_file.new"
  mv "$kept_file.new" "$kept_file"
  cat "$kept_file"
fi
exit $failed
