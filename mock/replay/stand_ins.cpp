// SPDX-License-Identifier: Apache-2.0
#include "stand_ins.hpp"

#include <sys/mman.h>

namespace cushim::replay {
namespace {

constexpr std::uint64_t kRegion = std::uint64_t{16} << 20;
// Memory at the end of a region may continue in the next one.
constexpr std::uint64_t kUsed = 2 * kRegion, kMapped = kUsed + kRegion;
constexpr std::uint64_t kLeastAddress = 65536, kMostAddress = std::uint64_t{1} << 47;

}  // namespace

void StandIns::Unmap::operator()(void *mapped) const { munmap(mapped, kMapped); }

std::uint64_t StandIns::of(std::uint64_t recorded) {
  if (recorded < kLeastAddress || recorded >= kMostAddress) return recorded;
  const std::uint64_t begin = recorded - recorded % kRegion;
  auto found = regions_.find(begin);
  if (found == regions_.end()) {
    void *const mapped =
        mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return recorded;
    // The same alignment as that of the recorded address.
    const auto address = reinterpret_cast<std::uint64_t>(mapped);
    const std::uint64_t aligned = address + (kRegion - address % kRegion) % kRegion;
    found = regions_.emplace(begin, Region{std::unique_ptr<void, Unmap>(mapped), aligned}).first;
  }
  return found->second.begin + (recorded - begin);
}

}  // namespace cushim::replay
