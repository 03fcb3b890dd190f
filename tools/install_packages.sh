#!/usr/bin/env bash
# Installs the Debian packages the build needs, with --for-tests a browser and a server that speaks S3, too. Quick when
# nothing is missing: apt and pip are not called then.
set -euo pipefail

packages=(
  cmake g++ ninja-build pkg-config python3
  catch2 coinor-libclp-dev graphviz iproute2 libcli11-dev libcsv-dev libcurl4-openssl-dev libeigen3-dev libfmt-dev libgraphviz-dev
  libprotozero-dev libpugixml-dev libsimgrid-dev libxxhash-dev libyaml-cpp-dev libzstd-dev nlohmann-json3-dev node-d3 valgrind
)
# 98 MB to fetch, so only for those who test. Without it the tests of pages are skipped.
browser=chromium-headless-shell

if ! command -v dpkg-query > /dev/null; then
  echo "install_packages.sh: no dpkg here; the build needs what Debian calls: ${packages[*]}" >&2
  exit 0 # they may be here by other means; CMake names what it misses
fi

is_missing() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null || true) != installed ]]
}

# Debian has none. Where PyPI's can't be installed either the tests against a real server say so and are skipped.
store_server() {
  if [[ ${1:-} != --for-tests ]] || command -v moto_server > /dev/null; then
    return
  fi
  python3 -m pip install -q 'moto[s3]' flask flask-cors 2> /dev/null ||
    echo "install_packages.sh: no moto_server here (moto[s3] flask flask-cors of PyPI); tests of a real store will be skipped" >&2
}

missing=()
for package in "${packages[@]}"; do
  if is_missing "$package"; then
    missing+=("$package")
  fi
done
if [[ ${1:-} != --for-tests ]] || ! is_missing chromium || ! is_missing "$browser"; then
  browser=
fi
if ((${#missing[@]} == 0)) && [[ -z $browser ]]; then
  store_server "$@"
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null; then
    echo "install_packages.sh: not root and no sudo; as root: apt-get install ${missing[*]} $browser" >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi

install() {
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@"
}

echo "Installing ${missing[*]} $browser" >&2
"${as_root[@]}" apt-get update -qq
if ((${#missing[@]} > 0)); then
  install "${missing[@]}"
fi
if [[ -n $browser ]] && ! install "$browser"; then
  echo "install_packages.sh: no $browser here; tests of pages will be skipped" >&2
fi
store_server "$@"
