// SPDX-License-Identifier: Apache-2.0
// Finds invalid handles and addresses in driver calls.
//
//   check::Misuse misuse(driver);
//   ...
//   EXPECT_THAT(misuse.finish(), IsEmpty());
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

namespace cushim::check {

// Rules:
//   use-after-destroy  a context, stream, event, array, memory pool or module that was destroyed, by itself
//                      or with its context
//   double-destroy     the same, destroyed again
//   wrong-kind         a handle of another type: an event for a stream
//   wrong-context      an event recorded on a stream of another context, or compared with an event of
//                      another
//   use-after-free     an address in freed memory (device, managed, of another process; stream-ordered if
//                      the host or the same stream uses it; other streams: check::Hazards)
//   double-free        memory freed again, including pinned, registered and stream-ordered memory
// The real driver's behaviour with such a handle or address is undefined, so the call does not reach it.
// The checker returns CUDA_ERROR_INVALID_HANDLE; for a context CUDA_ERROR_INVALID_CONTEXT, for a memory
// pool and for memory CUDA_ERROR_INVALID_VALUE, for an object destroyed with its context
// CUDA_ERROR_CONTEXT_IS_DESTROYED. Exceptions: the driver itself rejects a wrong context, and memory that
// is unregistered or closed again, so those calls reach it.
// A misuse is found when it happens: finish() returns the same as findings().
// Objects that are older than the checker are not checked. An object made by a library that looks up the
// driver itself bypasses cushim; it may get a handle value that the checker has seen destroyed.
class Misuse final : public StatefulChecker {
 public:
  // Installs hooks on the driver. Throws as mock::DriverSlot::over().
  explicit Misuse(Driver &driver);
};

}  // namespace cushim::check
