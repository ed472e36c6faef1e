// SPDX-License-Identifier: Apache-2.0
// Finds defects in kernels that the simulated driver executes from their PTX.
//
//   check::KernelChecks races(driver, check::KernelCheck::races);
//   ...
//   EXPECT_THAT(races.finish(), IsEmpty());
#pragma once

#include <cushim/check/finding.hpp>
#include <cushim/driver.hpp>

#include <cstdint>

namespace cushim::check {

// Rules:
//   memory: out-of-bounds           an access to memory that belongs to no allocation, or behind the end of
//                                   the block's shared or the thread's local memory
//           use-after-free          an access to freed memory
//           misaligned              an address that is not a multiple of the size of the access
//   races:  write-read, read-write, write-write
//                                   two threads access the same bytes, and no barrier, atomic operation or
//                                   fence orders them. Two writes of the same value are not a finding.
//   init:   uninitialized-read      a read of device or shared memory that was never written
//   barriers: exited-threads        a barrier of all threads of the block, before which some have exited
//           different-instructions  threads of one warp at different bar.sync instructions
//           never-completes         threads that wait for each other at different barriers
//           not-in-mask             a lane whose member mask does not name it
//           different-masks         lanes of a warp that meet with different member masks
enum class KernelCheck : std::uint8_t { memory, races, init, barriers };

// Reports defects of kernels that are launched while this object exists. A finding is available when its
// kernel has run. Kernels of other drivers, registered kernels and cubins without PTX are not checked; a line
// on stderr says so. Memory that was allocated before counts as written, and has no red zone. name() is
// "memory", "races", "init" or "barriers". finish() returns the same as findings(), because a defect is found
// when the kernel runs; it writes a line to stderr if the driver has executed no kernel of the launches.
class KernelChecks final : public StatefulChecker {
 public:
  // Installs hooks on the driver. Throws as mock::DriverSlot::over().
  KernelChecks(Driver &driver, KernelCheck check);
};

}  // namespace cushim::check
