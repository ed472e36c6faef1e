// SPDX-License-Identifier: Apache-2.0
// A folder that keeps the PTX from which cubins were made, found by the cubin's content. The PTX recorder
// (mock/ptx_recorder) writes it, the simulated driver reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cushim::sim {

struct StoredPtx {
  std::string text;
  std::string origin;          // who made the cubin: "NVRTC"
  unsigned max_registers = 0;  // of a thread, as a compiler's option says; 0: no limit
};

// Safe for parallel processes: a file appears under its name when it is complete, and is never changed.
class PtxStore {
 public:
  static constexpr std::uintmax_t kLimit = 256 << 20;

  // An empty folder name is a store that keeps and finds nothing. The folder is created when something is
  // kept. When the store's files exceed `limit` bytes, those that were used least recently are removed; the
  // excess between two such removals is at most limit / 8 in each process.
  explicit PtxStore(std::string folder, std::uintmax_t limit = kLimit)
      : folder_(std::move(folder)), limit_(limit) {}

  // Keeps the PTX of a cubin, with the members of StoredPtx. Returns false if it could not be written.
  bool keep(std::string_view cubin, std::string_view ptx, std::string_view origin,
            unsigned max_registers = 0);
  // Returns the PTX of a cubin; nothing if the store has none.
  std::optional<StoredPtx> find(std::string_view cubin) const;

  const std::string &folder() const noexcept { return folder_; }

 private:
  void remove_oldest() const;

  std::string folder_;
  std::uintmax_t limit_;
  std::uintmax_t written_ = 0;  // since remove_oldest()
  bool is_first_ = true;
};

}  // namespace cushim::sim
