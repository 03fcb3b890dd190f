#!/usr/bin/env bash
# Runs the benchmarks and writes docs/performance.md: `make performance`.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/performance.md
{
  cat <<'TEXT'
# Performance

What this page is for: how long the command takes and how much memory it needs, from a scenario file to the
predictions of all strategies, and how both grow with ranks; then how fast the executor copies and sends. Written by
`make performance`; do not edit.

Seconds are wall clock unless they say cpu; a machine with other work makes wall clock longer, cpu hardly. Each row
is a process of its own, so peaks of memory are its own. Nothing here is a test.

TEXT
  printf 'Machine: %s, %s cores.\n\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  printf '## Published scenarios (`published_bench`)\n\n```\n'
  build-bench/bin/published_bench
  printf '```\n\n## The largest (`large_bench`)\n\n'
  printf 'Kimi K3 between 8,192 and 8,192 GPUs (PP16 EP32 to engines of TP32); Llama 3.1 405B between 49,952 and\n'
  printf '50,000 (TP8 PP14 to engines of TP8); Llama 3.1 70B from FSDP on 4,096 to engines of TP8 on 4,096.\n\n```\n'
  build-bench/bin/large_bench
  printf '```\n\n## Ranks from 64 to 16,384, layers times 1 to 8 (`scaling_bench`)\n\n'
  printf 'DeepSeek-V3, half of the GPUs train (PP2 EP16), half generate (engines of TP8).\n\n```\n'
  build-bench/bin/scaling_bench
  printf '```\n\n## From a schedule file to its prediction (`schedule_file_bench`)\n\n'
  cat <<'TEXT'
`refit simulate FILE --wire-only` on 4,096 ranks, transfers of 16 MiB: reading, checking, simulating, printing. Targets for
1,048,576 transfers, cpu: conflict-free under 3 s, random under 4 s, either under 300 MB (286 MiB).

TEXT
  printf '```\n'
  build-bench/bin/schedule_file_bench
  printf '```\n\n## The solver alone (`solver_bench`)\n\n'
  cat <<'TEXT'
Ports of 16,384 GPUs, 64 transfers each: conflict-free rounds, random pairs, a Clos with ECMP. Targets for 1,048,576 transfers: 0.3,
2.5 and 15 s. `native` is SimGrid's own solver, on as many transfers as it ends in time.

TEXT
  printf '```\n'
  build-bench/bin/solver_bench
  printf '```\n\n## Reductions before simulating (`reductions_bench`)\n\n```\n'
  build-bench/bin/reductions_bench
  printf '```\n\n## Overlap of two layouts (`overlap_bench`)\n\n'
  printf 'Kimi K3 from 4,096 GPUs to 4,096 others: classes of tensors, then their joint cuts. Target: under 5 s.\n\n```\n'
  build-bench/bin/overlap_bench
  printf '```\n\n## Copies in a process (`copy_bench`)\n\n'
  cat <<'TEXT'
Gather: from every other run of a buffer to a dense one; scatter: the other way; both strided: every other run on
both sides. Ratios are to one memcpy of as many bytes, measured in turn with them; it may write past the cache, which
copies of many runs don't. Targets: 0.8 of memcpy from 1 MiB on, 0.5 at 128 B.

TEXT
  printf '```\n'
  build-bench/bin/copy_bench
  printf '```\n\n## Deltas (`delta_bench`)\n\n'
  cat <<'TEXT'
Dense bytes per second while a step's changes are found and written down, or applied ([delta](delta.md)). Targets: scan 0.8 of
memcmp; of memcpy, rice 0.7 to encode and 0.9 to apply, conditioned 0.35 to encode.

TEXT
  printf '```\n'
  build-bench/bin/delta_bench
  printf '```\n\n## TCP on loopback (`tcp_bench`)\n\n'
  printf 'Targets: 0.85 of iperf3 with the same number of streams, under 15 us for a small message.\n\n```\n'
  build-bench/bin/tcp_bench
  printf '```\n'
} > "$page.new"
mv "$page.new" "$page"
