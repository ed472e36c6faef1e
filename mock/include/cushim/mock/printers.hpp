// SPDX-License-Identifier: Apache-2.0
// Prints results and handles in GoogleTest messages: "CUDA_ERROR_INVALID_HANDLE (400, invalid handle)",
// "legacy stream". All headers of the mock driver include it, so that every file prints them alike (one
// definition rule).
#pragma once

#include <cushim/mock/text.hpp>

#include <ostream>

// In the global namespace, like the types they print, for argument-dependent lookup.
inline void PrintTo(CUresult result, std::ostream *out) { *out << cushim::mock::result_text(result); }

#define CUSHIM_HANDLE(type, noun) \
  inline void PrintTo(type handle, std::ostream *out) { *out << cushim::mock::handle_text(noun, handle); }
CUSHIM_HANDLES(CUSHIM_HANDLE)
#undef CUSHIM_HANDLE

// Flag types, each with the base name of a call that takes them.
#define CUSHIM_FLAGS(type, base)                                          \
  inline void PrintTo(type flags, std::ostream *out) {                    \
    *out << cushim::mock::flags_text(base, static_cast<unsigned>(flags)); \
  }
CUSHIM_FLAGS(CUctx_flags, "cuCtxCreate")
CUSHIM_FLAGS(CUevent_flags, "cuEventCreate")
CUSHIM_FLAGS(CUevent_record_flags, "cuEventRecordWithFlags")
CUSHIM_FLAGS(CUevent_wait_flags, "cuStreamWaitEvent")
CUSHIM_FLAGS(CUipcMem_flags, "cuIpcOpenMemHandle")
CUSHIM_FLAGS(CUmemAttach_flags, "cuMemAllocManaged")
CUSHIM_FLAGS(CUstream_flags, "cuStreamCreate")
CUSHIM_FLAGS(CUstreamWaitValue_flags, "cuStreamWaitValue32")
CUSHIM_FLAGS(CUstreamWriteValue_flags, "cuStreamWriteValue32")
#undef CUSHIM_FLAGS
