// SPDX-License-Identifier: Apache-2.0
// The parameter lists of the entry points that tests mock most often: SIGNATURE(types...), once for each
// list.
#pragma once

// clang-format off
#define CUSHIM_COMMON_SIGNATURES(SIGNATURE) \
  SIGNATURE(unsigned int) \
  SIGNATURE(int *) \
  SIGNATURE(int *, int) \
  SIGNATURE(int) \
  SIGNATURE(char *, int, int) \
  SIGNATURE(int *, CUdevice_attribute, int) \
  SIGNATURE(std::size_t *, int) \
  SIGNATURE(CUcontext *) \
  SIGNATURE(CUcontext *, int) \
  SIGNATURE(CUcontext *, unsigned int, int) \
  SIGNATURE(CUcontext) \
  SIGNATURE() \
  SIGNATURE(std::size_t *, std::size_t *) \
  SIGNATURE(CUdeviceptr *, std::size_t) \
  SIGNATURE(CUdeviceptr) \
  SIGNATURE(void **, std::size_t) \
  SIGNATURE(void **, std::size_t, unsigned int) \
  SIGNATURE(void *) \
  SIGNATURE(CUdeviceptr *, std::size_t, CUstream) \
  SIGNATURE(CUdeviceptr, CUstream) \
  SIGNATURE(CUdeviceptr, const void *, std::size_t) \
  SIGNATURE(void *, CUdeviceptr, std::size_t) \
  SIGNATURE(CUdeviceptr, CUdeviceptr, std::size_t) \
  SIGNATURE(CUdeviceptr, const void *, std::size_t, CUstream) \
  SIGNATURE(void *, CUdeviceptr, std::size_t, CUstream) \
  SIGNATURE(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) \
  SIGNATURE(CUdeviceptr, unsigned char, std::size_t) \
  SIGNATURE(CUdeviceptr, unsigned char, std::size_t, CUstream) \
  SIGNATURE(CUdeviceptr, unsigned int, std::size_t) \
  SIGNATURE(CUdeviceptr, unsigned int, std::size_t, CUstream) \
  SIGNATURE(CUstream *, unsigned int) \
  SIGNATURE(CUstream) \
  SIGNATURE(CUstream, CUevent, unsigned int) \
  SIGNATURE(CUstream, CUdeviceptr, cuuint32_t, unsigned int) \
  SIGNATURE(CUstream, CUhostFn, void *) \
  SIGNATURE(CUevent *, unsigned int) \
  SIGNATURE(CUevent) \
  SIGNATURE(CUevent, CUstream) \
  SIGNATURE(float *, CUevent, CUevent) \
  SIGNATURE(CUmodule *, const void *) \
  SIGNATURE(CUmodule) \
  SIGNATURE(CUfunction *, CUmodule, const char *) \
  SIGNATURE(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, \
            CUstream, void **, void **)
// clang-format on
