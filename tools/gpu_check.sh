#!/usr/bin/env bash
# Builds the GPU side of the executor and runs all its checks on a machine with one NVIDIA GPU: the
# kernels against a device copy, NCCL with one rank, every scenarios/small file on virtual ranks, and the
# tests tagged [.gpu]. Prints tables; exits 0 if no byte is wrong, 1 if some are, 3 without a GPU.
#
# Has not run on a GPU yet: on machines without one it was only seen to say so. docs/gpu.md lists what
# is proved on stand-ins and what is not proved. Meant to take under 4 minutes on one H200, build
# included; that too is not measured.
#
#   tools/gpu_check.sh [--no-build] [BUILD_FOLDER]        default: build-gpu
#
# --no-build runs what BUILD_FOLDER/bin holds, for machines without a compiler; shared libraries that the
# machine lacks are looked for in BUILD_FOLDER/lib.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
no_build=
if [[ ${1:-} == --no-build ]]; then
  no_build=1
  shift
fi
build=${1:-$root/build-gpu}

# Before minutes of building.
if ! compgen -G '/dev/nvidia[0-9]*' > /dev/null && ! nvidia-smi -L > /dev/null 2>&1; then
  echo "gpu_check.sh: no NVIDIA driver or GPU was found (no /dev/nvidia0); run it on a machine with one" >&2
  exit 3
fi

if [[ -z $no_build ]]; then
  # The machine's own generation is enough here, and quicker to compile.
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -1 | tr -d '. ' || true)
  log=$build.log
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DREFIT_CUDA=ON \
    ${architecture:+-DREFIT_CUDA_ARCHITECTURES="$architecture"} > "$log" 2>&1 || {
    tail -20 "$log" >&2
    exit 3
  }
  grep 'CUDA and NCCL' "$log"
  cmake --build "$build" --target refit_gpu_check executor_gpu_test >> "$log" 2>&1 || {
    tail -40 "$log" >&2
    exit 3
  }
fi
if [[ -d $build/lib ]]; then
  export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

status=0
timeout 40 "$build/bin/executor_gpu_test" '[.gpu]' || status=$?
timeout 150 "$build/bin/refit_gpu_check" "$root/scenarios/small" || {
  check=$?
  ((check > status)) && status=$check
}
exit "$status"
