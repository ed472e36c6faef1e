// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cushim/ptx/checks.hpp"

namespace cushim::ptx {

struct Mnemonic;

namespace execute {

// Properties of an instruction that the checks of kernels use.
struct InstructionTraits {
  bool is_strong : 1 = false;        // volatile, relaxed, acquire or release, or an atomic operation
  bool is_atomic : 1 = false;        // atom, red
  bool releases : 1 = false;         // has .release or .acq_rel
  bool is_fence : 1 = false;         // membar, fence
  bool is_warp_barrier : 1 = false;  // bar.warp.sync
  bool is_aligned : 1 = false;       // all threads of a warp must execute the same one: bar.sync
  bool ignores_value : 1 = false;    // an atomic exchange, which needs no initialized memory
  // The number of warps that access memory together: ldmatrix and wmma 1, wgmma 4; 0: each thread for itself.
  std::uint8_t warps = 0;
  MemorySpace space = MemorySpace::none;  // none: generic addresses, or two spaces
};

InstructionTraits traits_of(const Mnemonic &);

}  // namespace execute
}  // namespace cushim::ptx
