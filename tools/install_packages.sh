#!/usr/bin/env bash
# Installs the Debian packages the build needs. Quick when nothing is missing: apt is not called then.
set -euo pipefail

packages=(
  cmake g++ ninja-build pkg-config python3
  catch2 coinor-libclp-dev graphviz iproute2 libcli11-dev libcsv-dev libeigen3-dev libfmt-dev libgraphviz-dev
  libpugixml-dev libsimgrid-dev libxxhash-dev libyaml-cpp-dev libzstd-dev nlohmann-json3-dev valgrind
)

if ! command -v dpkg-query > /dev/null; then
  echo "install_packages.sh: no dpkg here; the build needs what Debian calls: ${packages[*]}" >&2
  exit 0 # they may be here by other means; CMake names what it misses
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
  if [[ $status != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null; then
    echo "install_packages.sh: not root and no sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi

echo "Installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
