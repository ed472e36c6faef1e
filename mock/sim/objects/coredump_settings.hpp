// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cushim::sim {

// The attributes of coredumps (CUcoredumpSettings). The simulated driver writes no coredump.
struct CoredumpSettings {
  bool on_exception = false;
  bool user_trigger = false;
  // CUCoredumpGenerationFlags. CU_COREDUMP_LIGHTWEIGHT and CU_COREDUMP_TRIGGER_HOST are bits of them.
  int flags = 0;
  std::string file, pipe;
};

// When a registered callback is called.
enum class CoredumpMoment { start, complete };

}  // namespace cushim::sim
