#!/usr/bin/env bash
# Builds the GPU side of the executor and runs all its checks on a machine with one NVIDIA GPU: the
# kernels against a device copy, NCCL with one rank, every scenarios/small file on virtual ranks, the
# tests tagged [.gpu], and the command itself. Prints tables; exits 0 if no byte is wrong, 1 if some
# are, 3 without a GPU or if something does not build.
#
# Has not run on a GPU yet: on machines without one it was seen to build everything and to say so.
# docs/gpu.md lists what is proved on stand-ins and what is not proved. Meant to take under 4 minutes on
# one H200, build included; that too is not measured.
#
#   tools/gpu_check.sh [--build-only | --no-build] [BUILD_FOLDER]        default: build-gpu
#
# --build-only stops before the GPU is needed, for a machine that has none. --no-build runs what
# BUILD_FOLDER/bin holds, for a machine without a compiler; shared libraries that the machine lacks are
# looked for in BUILD_FOLDER/lib.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
mode=all
if [[ ${1:-} == --no-build || ${1:-} == --build-only ]]; then
  mode=$1
  shift
fi
build=${1:-$root/build-gpu}
programs=(executor_gpu_test delta_gpu_test refit refit_gpu refit_gpu_check)

# Before minutes of building.
if [[ $mode != --build-only ]] && ! compgen -G '/dev/nvidia[0-9]*' > /dev/null && ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_check.sh: no GPU: no NVIDIA driver or device was found (no /dev/nvidia0); run it on a machine with one" >&2
  exit 3
fi

if [[ $mode != --no-build ]]; then
  # The machine's own generation is enough where there is one, and quicker to compile.
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -1 | tr -d '. ' || true)
  log=$build.log
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DREFIT_CUDA=ON \
    ${architecture:+-DREFIT_CUDA_ARCHITECTURES="$architecture"} > "$log" 2>&1 || {
    tail -20 "$log" >&2
    exit 3
  }
  grep 'CUDA and NCCL' "$log"
  cmake --build "$build" --target "${programs[@]}" >> "$log" 2>&1 || {
    tail -40 "$log" >&2
    exit 3
  }
fi
for program in "${programs[@]}"; do
  [[ -x $build/bin/$program ]] && continue
  echo "gpu_check.sh: $build/bin/$program is missing; build it with tools/gpu_check.sh --build-only" >&2
  exit 3
done
if [[ $mode == --build-only ]]; then
  echo "gpu_check.sh: built ${programs[*]} in $build/bin; run --no-build there on a machine with a GPU"
  exit 0
fi
if [[ -d $build/lib ]]; then
  export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# The worst end of all checks is ours.
status=0
check() {
  local code=0
  "$@" || code=$?
  ((code > status)) && status=$code
  return 0
}
check timeout 40 "$build/bin/executor_gpu_test" '[.gpu]'
check timeout 20 "$build/bin/delta_gpu_test" '[.gpu]'
check timeout 150 "$build/bin/refit_gpu_check" "$root/scenarios/small"
echo
check timeout 30 "$build/bin/refit" run --transport cuda -n 3 --scale 1/100 "$root/scenarios/small/dense_tp2_to_tp4.yaml"
exit "$status"
