# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# CUDA headers of the machine, or fetched ones. Sourced by tools/dev.

# Prints the release of the toolkit headers in a directory, such as 12040; 0 if there are none.
toolkit_version() {
  local version=0
  [[ -f $1/cuda.h ]] && version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$1/cuda.h")
  echo "${version:-0}"
}

installed_headers() {
  local folder nvcc=''
  nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
  for folder in ${CUDAToolkit_ROOT:+"$CUDAToolkit_ROOT/include"} ${CUDA_PATH:+"$CUDA_PATH/include"} \
    ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /opt/cuda/include ${nvcc:+"$nvcc"} /usr/include; do
    if (($(toolkit_version "$folder") >= 11080)); then
      echo "$folder"
      return
    fi
  done
}

# Sets HEADERS to a directory with a supported cuda.h; downloads one if there is none.
choose_headers() {
  HEADERS=${CUSHIM_CUDA_INCLUDE_DIR:-}
  if [[ -n $HEADERS ]]; then
    (($(toolkit_version "$HEADERS") >= 11080)) ||
      die "CUSHIM_CUDA_INCLUDE_DIR is $HEADERS, which has no cuda.h of CUDA 11.8 or newer"
  else
    HEADERS=$(installed_headers)
  fi
  if [[ -z $HEADERS ]]; then
    need "$PACKAGES_TO_FETCH"
    python3 tools/generator/fetch_cuda_headers.py "$HEADERS_RELEASE" --into "$TOOLKITS" ||
      die "no CUDA headers: install a CUDA toolkit, or set CUSHIM_CUDA_INCLUDE_DIR to the folder of a cuda.h"
    HEADERS=$TOOLKITS/$HEADERS_RELEASE/include
  fi
  say "CUDA headers: $HEADERS"
}
