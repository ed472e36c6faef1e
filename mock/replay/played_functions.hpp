// SPDX-License-Identifier: Apache-2.0
// Host functions of a replay, which write what the recorded ones wrote.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace cushim::replay {

class PlayedFunctions {
 public:
  // The bytes that a function writes. They must exist as long as the object that they are added to.
  struct Write {
    char *to;
    std::string_view bytes;
  };
  using Writes = std::vector<Write>;

  PlayedFunctions() = default;
  PlayedFunctions(const PlayedFunctions &) = delete;
  PlayedFunctions &operator=(const PlayedFunctions &) = delete;
  // Functions that have not run do nothing when they run later.
  ~PlayedFunctions();

  // Returns the data for run() or run_in_stream(), which then make these writes once, after `wait` has
  // returned.
  std::uint64_t add(Writes writes, std::function<void()> wait);
  static void run(void *data);
  static void CUDA_CB run_in_stream(CUstream stream, CUresult status, void *data);

 private:
  std::vector<std::uint64_t> added_;
};

}  // namespace cushim::replay
