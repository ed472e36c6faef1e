// SPDX-License-Identifier: Apache-2.0
// The meaning of the null stream, which each file chooses.
//
// As with <cuda.h>, a file that defines CUDA_API_PER_THREAD_DEFAULT_STREAM uses the calling thread's default
// stream as the null stream; other files use the legacy default stream, which all threads share. With the
// macro, <cuda.h> and the wrappers call other symbols (cuEventRecord_ptsz). To obey the one-definition rule,
// everything whose calls depend on the choice is in an inline namespace that is named after it. Files with
// different choices can be linked into one program. Passing a wrapper from one to the other does not link,
// because its null stream would change its meaning: pass the raw handle. Drivers, errors, devices and
// contexts are the same types in both.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cuda.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUSHIM_DEFAULT_STREAM per_thread_default_stream
#define CUSHIM_EXACT_PTSZ(entry) ::cushim::exact::entry##_ptsz
#else
// The inline namespace of this file's choice.
#define CUSHIM_DEFAULT_STREAM shared_default_stream
// The entry point of this file's choice, by its exact symbol.
#define CUSHIM_EXACT_PTSZ(entry) ::cushim::exact::entry
#endif
