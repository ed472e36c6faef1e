// SPDX-License-Identifier: Apache-2.0
// Rows that are known at run time only: what a hook on one is made with.
#pragma once

#include <cushim/mock/hook.hpp>

namespace cushim {
inline namespace v1 {
namespace hook {
namespace detail {

// Makes the receiver of the row's calls; null if these headers cannot type the row.
MakeReceiver make_receiver_of(int slot) noexcept;

}  // namespace detail
}  // namespace hook
}  // namespace v1
}  // namespace cushim
