#!/usr/bin/env bash
# Runs the benchmarks and writes docs/performance.md: `make performance`.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/performance.md
{
  cat <<'TEXT'
# Performance

What this page is for: how long the command takes and how much memory it needs, from a scenario file to the
predictions of all strategies, and how both grow with ranks. Written by `make performance`; do not edit.

Seconds are wall clock unless they say cpu; a machine with other work makes wall clock longer, cpu hardly. Each row
is a process of its own, so peaks of memory are its own. Nothing here is a test.

TEXT
  printf 'Machine: %s, %s cores.\n\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  printf '## Published scenarios (`published_bench`)\n\n```\n'
  build-bench/bin/published_bench
  printf '```\n\n## Ranks from 64 to 4,096 (`scaling_bench`)\n\n'
  printf 'DeepSeek-V3, half of the GPUs train (PP2 EP16), half generate (engines of TP8).\n\n```\n'
  build-bench/bin/scaling_bench
  printf '```\n'
} > "$page.new"
mv "$page.new" "$page"
