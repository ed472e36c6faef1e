// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress through a frame: it answers the frame's own functions, so that no pointer that a
// program looks up goes past whoever has the frame.
#pragma once

#include <cushim/mock/frame.hpp>

namespace cushim {
inline namespace v1 {
namespace mock {

// The rows of both ABIs.
inline constexpr int kLookups[] = {static_cast<int>(Entry::cuGetProcAddress_v11030),
                                   static_cast<int>(Entry::cuGetProcAddress_v12000)};

// Answers as a driver of this version that lives in this frame. The first ABI fails with NOT_FOUND where
// the second says in *status why it found nothing.
CUresult look_up(const Frame &frame, const char *base, void **function, int version,
                 cuuint64_t flags) noexcept;
#if CUDA_VERSION >= 12000
CUresult look_up(const Frame &frame, const char *base, void **function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult *status) noexcept;
#endif

// Puts before the lookups of the driver below what answers the frame's functions in place of the
// driver's, for all that the driver finds.
void answer_lookups_below(Frame &frame);

}  // namespace mock
}  // namespace v1
}  // namespace cushim
