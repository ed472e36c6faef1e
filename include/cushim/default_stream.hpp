// SPDX-License-Identifier: Apache-2.0
// Which stream the null handle means, and how two answers live in one program.
//
// Like <cuda.h>, cushim lets each file choose: with CUDA_API_PER_THREAD_DEFAULT_STREAM defined, the
// null stream is the calling thread's own default stream, else the one that all threads share.
// <cuda.h> then calls other symbols (cuEventRecord_ptsz), and so do the wrappers. So that one inline
// function never means two things, everything whose calls depend on the choice lives in an inline
// namespace that is named after it. Files that differ may be linked together; passing a wrapper from
// one to the other does not link, because its null stream would silently become another: pass the
// raw handle. Drivers, errors, devices and contexts are the same types in both.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cuda.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUSHIM_DEFAULT_STREAM per_thread_default_stream
#define CUSHIM_EXACT_PTSZ(entry) ::cushim::exact::entry##_ptsz
#else
// The inline namespace of this file's choice.
#define CUSHIM_DEFAULT_STREAM shared_default_stream
// The entry as this file's choice means it, by its exact symbol.
#define CUSHIM_EXACT_PTSZ(entry) ::cushim::exact::entry
#endif
