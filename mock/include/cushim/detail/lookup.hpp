// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress through a driver slot. It returns the driver slot's own functions, so that no pointer
// that a program looks up bypasses the owner of the slot.
#pragma once

#include <cushim/mock/driver_slot.hpp>

namespace cushim::mock {

// The entry points of both ABIs of cuGetProcAddress.
inline constexpr int kLookups[] = {static_cast<int>(Entry::cuGetProcAddress_v11030),
                                   static_cast<int>(Entry::cuGetProcAddress_v12000)};

// Looks up a function as the driver of this version in this driver slot. Where the second ABI reports in
// *status why it found nothing, the first returns CUDA_ERROR_NOT_FOUND.
CUresult look_up(const DriverSlot &driver_slot, const char *base, void **function, int version,
                 cuuint64_t flags) noexcept;
#if CUDA_VERSION >= 12000
CUresult look_up(const DriverSlot &driver_slot, const char *base, void **function, int version,
                 cuuint64_t flags, CUdriverProcAddressQueryResult *status) noexcept;
#endif

// Hooks cuGetProcAddress of the driver below: each function that it finds is replaced by that of the driver
// slot.
void answer_lookups_below(DriverSlot &driver_slot);

}  // namespace cushim::mock
