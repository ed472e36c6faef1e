// SPDX-License-Identifier: Apache-2.0
// The checks of one launch. The executor calls it at accesses to memory and at synchronization, if a check is
// on; then one worker runs all blocks.
#pragma once

#include <bitset>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "check/race_detector.hpp"
#include "cushim/ptx/checks.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {

class KernelChecker {
 public:
  KernelChecker(const Launch &launch, const Checks &checks);
  // Returns whether accesses() needs all accesses. Else it needs those that fault.
  bool needs_all_accesses() const { return checks_[Check::races] || checks_[Check::init]; }

  // ---- memory

  // `host` is null if the address is illegal. `address` is as the kernel wrote it.
  void accesses(Warp &, const Op *, unsigned lane, std::uint64_t address, std::byte *host,
                std::uint64_t bytes, Access, MemorySpace);
  // The memory was allocated by the kernel.
  void allocated(std::byte *host, std::uint64_t bytes);

  // ---- synchronization

  void block_starts(Block &);
  void fence(Warp &, const Op *);
  // Lanes of a warp complete an exchange or a warp barrier. Those of the running path execute `op`; others
  // are in rendezvous.
  void meet(WarpState &, const Op *op, std::uint32_t lanes_mask);
  void arrives_at_barrier(WarpState &, std::uint32_t id);
  void completes_barrier(Block &, std::uint32_t id, bool is_counted);
  void arrives_at_cluster_barrier(Warp &);
  void completes_cluster_barrier(Cluster &);
  void passes_cluster_barrier(Warp &, std::uint32_t lanes_mask);
  void arrives_at_mbarrier(Warp &, unsigned lane, const std::byte *host);
  void passes_mbarrier(Warp &, unsigned lane, const std::byte *host);
  // No thread of the block can go on.
  void blocked(const Block &);

  // An operation faults.
  void faults(Warp &, const Op *, unsigned lane, FaultKind, std::uint64_t address);

  // Reports all findings. The memory of the blocks must still exist.
  void finish();

 private:
  using Knowledge = RaceDetector::Knowledge;

  struct BlockState {
    std::vector<Knowledge> threads;
    Knowledge barriers[16];
  };
  struct ClusterState {
    Knowledge arrived, completed;
  };
  // A thread at an instruction.
  struct Place {
    std::uint64_t thread = 0;
    std::uint32_t where = 0;
    bool operator==(const Place &) const = default;
  };
  // A conflict of two writes, which is not a race if the second one does not change the bytes.
  struct SecondWrite {
    RaceDetector::Record earlier;
    Place place;
    std::uint64_t address;
    MemorySpace space;
    const std::byte *host;
    std::uint64_t bytes;
    std::byte before[16];
  };
  using Key =
      std::tuple<std::string_view, std::uint64_t, std::uint64_t>;  // rule, lines of the first two acts

  Place place_of(Warp &, const Op *, unsigned lane) const;
  // The instruction of a path, whose operation is `op`.
  std::uint32_t where_of(const Path &path, const Op *op) const;
  const InstructionSource &source_at(std::uint32_t where) const;
  InstructionTraits traits_at(std::uint32_t where) const;
  // Returns a number that identifies the source line, so that findings in an unrolled loop are merged;
  // without .loc, a number that identifies the instruction.
  std::uint64_t line_of(std::uint32_t where) const;
  std::uint64_t thread_of(const Warp &, unsigned lane) const;
  ThreadPosition position_of(const Place &) const;
  Knowledge &knowledge_of(Warp &, unsigned lane);
  // Joins the clocks of lanes, and their accesses so far, into `to`.
  void arrive(Warp &, std::uint32_t lanes_mask, Knowledge &to);

  // Returns whether a finding of the same rule and lines exists or too many findings are kept. Increments the
  // count of an existing one.
  bool is_known(Check check, std::string_view rule, std::uint32_t first, std::uint32_t second);
  void add_barrier(std::string_view rule, std::string what, std::vector<KernelFinding::Act> acts);
  void add_race(const RaceDetector::Record &earlier, const Place &place, std::uint64_t address,
                std::uint64_t bytes, MemorySpace space, Access access);
  void check_second_writes();
  void check_initialized(const Place &place, const InstructionTraits &traits, std::uint64_t address,
                         const std::byte *host, std::uint64_t bytes, Access access, MemorySpace space);
  void check_masks(WarpState &, const Op *op, std::uint32_t lanes_mask, const std::uint32_t *masks);
  void check_instructions(Block &, std::uint32_t id);
  void check_exits(Block &, std::uint32_t id);

  const Launch &launch_;
  const Checks &checks_;
  std::vector<std::uint32_t> first_instruction_;  // by function: its first number of an instruction
  RaceDetector races_;
  Shadow<std::bitset<64>, 64> unwritten_shared_;
  std::map<const Block *, BlockState> blocks_;
  std::pair<const Block *, BlockState *> last_block_{};
  std::map<const Cluster *, ClusterState> clusters_;
  std::vector<SecondWrite> second_writes_;
  // The last access, for the message of a fault.
  struct {
    std::uint64_t address = 0, bytes = 0;
    Access access = Access::read;
  } last_;
  std::vector<KernelFinding> findings_;
  std::map<Key, std::size_t> known_;  // index in findings_
};

}  // namespace cushim::ptx::execute
