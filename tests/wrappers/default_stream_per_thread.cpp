// SPDX-License-Identifier: Apache-2.0
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "default_stream_calls.hpp"

namespace cushim::test {

Calls calls_with_per_thread_default_stream() { return calls_with_this_default_stream(); }

}  // namespace cushim::test
