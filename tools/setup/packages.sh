# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Packages of the system that tools/dev needs, and their installation. Sourced by tools/dev.

# Required packages as "probe:package". A probe is a command, a header, or a name that is_there() handles.
readonly PACKAGES_TO_BUILD="g++:g++ cmake:cmake ninja:ninja-build"
readonly PACKAGES_OF_THE_SIMULATOR="nlohmann/json.hpp:nlohmann-json3-dev"
readonly PACKAGES_OF_THE_COMMAND="CLI/CLI.hpp:libcli11-dev fmt/core.h:libfmt-dev $PACKAGES_OF_THE_SIMULATOR"
readonly PACKAGES_TO_FETCH="python3:python3 pip:python3-pip"
readonly PACKAGES_TO_TEST="archive.h:libarchive-dev zstd.h:libzstd-dev gtest/gtest.h:libgtest-dev gmock/gmock.h:libgmock-dev
  benchmark/benchmark.h:libbenchmark-dev clang++:clang sanitizers:libclang-rt-dev llvm-symbolizer:llvm
  clang-format:clang-format shellcheck:shellcheck ccache:ccache
  ld.lld:lld valgrind:valgrind aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user
  pkg-config:pkg-config zstd:zstd dot:graphviz unshare:util-linux file:file dpkg-shlibdeps:dpkg-dev
  GL/gl.h:libgl-dev EGL/egl.h:libegl-dev vdpau/vdpau.h:libvdpau-dev"

# Third-party programs that tests/clients runs; it skips those that are missing.
readonly PACKAGES_OF_CLIENTS="ffmpeg:ffmpeg hashcat:hashcat boinc:boinc-client
  llvm-omp-device-info:libomp-dev nvptx-offload:gcc-offload-nvptx"

# Doxygen 1.9.4 or newer. The search is tested if a browser is installed.
readonly PACKAGES_OF_DOCS="doxygen:doxygen python3:python3"
readonly BROWSER="chromium:chromium"

is_there() {
  case $1 in
    pip) have python3 && python3 -m pip --version >/dev/null 2>&1 ;;
    sanitizers) have clang && [[ -e $(clang -print-file-name="libclang_rt.asan-$(uname -m).a") ]] ;;
    nvptx-offload) [[ $(gcc -print-file-name=libgomp-plugin-nvptx.so.1) == /* ]] ;;
    *.h | *.hpp) have g++ && g++ -E -x c++ -include "$1" /dev/null >/dev/null 2>&1 ;;
    *) have "$1" ;;
  esac
}

# Prints the packages among "probe:package ..." whose probe fails.
missing() {
  local pair
  # shellcheck disable=SC2048
  for pair in $*; do
    is_there "${pair%%:*}" || printf '%s ' "${pair##*:}"
  done
}

# Installs packages; on failure prints the reason.
install_packages() {
  local as_root=()
  if ! have apt-get; then
    echo "This machine has no apt. Please install what Debian calls: $*" >&2
    return 1
  fi
  if [[ $(id -u) != 0 ]]; then
    have sudo || { echo "To install $*, run this as root: there is no sudo here." >&2; return 1; }
    if ! $YES; then
      [[ -t 0 ]] || { echo "To install $* this needs root: run it with --yes, or in a terminal." >&2; return 1; }
      local answer
      read -rp "Install with sudo apt-get: $*? [y/N] " answer
      [[ $answer == [yY]* ]] || { echo "Not installed: $*" >&2; return 1; }
    fi
    as_root=(sudo)
  fi
  say "installing $*"
  "${as_root[@]}" apt-get update -qq || echo "apt-get update failed; trying with the lists that are there" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# need "probe:package ...": installs missing packages; ends the script if any is still missing.
need() {
  local packages
  packages=$(missing "$@")
  [[ -z $packages ]] && return
  # shellcheck disable=SC2086
  install_packages $packages || die "cannot go on without: $packages"
  packages=$(missing "$@")
  [[ -z $packages ]] || die "still missing after the installation: $packages"
}

# want "probe:package ...": installs missing packages; returns a failure if it cannot.
want() {
  local packages
  packages=$(missing "$@")
  # shellcheck disable=SC2086
  [[ -z $packages ]] || install_packages $packages
}

at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1) == "$2" ]]; }

check_versions() {
  local version
  version=$(cmake --version | sed -n '1s/.* //p')
  at_least "$version" 3.25 || die "CMake is $version; 3.25 or newer is needed"
  version=$(g++ -dumpfullversion)
  at_least "$version" 12 || die "GCC is $version; 12 or newer is needed"
}
