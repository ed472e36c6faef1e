// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "execute/code.hpp"

// The state of a launch. A warp consists of paths: groups of lanes with one program counter. Lanes that reach
// the point where a divergent branch reconverges wait in a join until the others arrive. Leaving a join early
// costs speed but changes no result.
namespace cushim::ptx::execute {

struct Frame {
  std::byte *registers = nullptr;
  const FunctionCode *function = nullptr;
  Frame *caller = nullptr;
  const Op *call = nullptr;  // the call operation
  std::uint64_t local_base = 0, local_top = 0;
  std::uint32_t users = 0;  // number of lanes
  std::vector<std::byte> storage;
};

struct Join {
  const Op *at = nullptr;
  const Frame *frame = nullptr;
  std::uint32_t expected = 0, arrived = 0;
  Join *parent = nullptr;
  Frame *resume_frame = nullptr;
};

enum class PathState : std::uint8_t { ready, barrier, cluster_barrier, rendezvous, warpgroup };

struct Path {
  const Op *pc = nullptr;
  std::uint32_t mask = 0;
  PathState state = PathState::ready;
  std::uint32_t barrier = 0;
  std::uint32_t members = 0;  // member mask of the rendezvous
  Frame *frame = nullptr;
  Join *join = nullptr;
};

enum class Stop : std::uint8_t { none, done, blocked, slice, fault };

struct Special {
  std::uint32_t tid[3][lanes];
};

struct WarpState : Warp {
  std::vector<Path> paths;  // the running path is paths[current]
  std::size_t current = 0;
  std::deque<Join> joins;
  std::vector<Join *> free_joins;
  std::vector<Join *> used_joins;
  std::deque<Frame> frames;
  std::vector<std::vector<Frame *>> free_frames;  // by function
  Frame kernel_frame;
  Stop stop = Stop::none;
  bool waits = false;  // has executed an atomic, volatile load, fence or clock read, as waiting loops do
  bool finished = false;
  std::size_t waiting_slices = 0;  // since lanes last left a join
  std::uint32_t index = 0;
  std::uint32_t arrived[16] = {};     // mask of the lanes at each barrier of the block
  std::uint32_t cluster_arrived = 0;  // mask of the lanes at the barrier of the cluster
  std::uint64_t exchange[lanes];      // operands of the lanes in a rendezvous
  std::uint32_t rendezvous_mask = 0;  // mask of those lanes
  std::uint32_t carry = 0;            // CC.CF of each lane
  Special special;
  WarpCosts costs;  // of a block whose code has costs
  std::vector<std::byte> local_storage;
};

struct Barrier {
  std::uint32_t expected = 0;  // threads; 0: all threads of the block
  std::uint32_t true_lanes = 0, all_lanes = 0;
  bool waiting = false;
};

struct Launch;
struct Cluster;

struct Block {
  std::uint64_t index = 0;
  const Code *code = nullptr;
  bool is_sampled = false;  // whether the costs of this block are summed
  BlockCosts costs;
  Cluster *cluster = nullptr;
  std::uint32_t rank = 0;  // in the cluster
  Dim3 id;
  std::vector<std::unique_ptr<WarpState>> warps;
  std::vector<std::byte> shared_storage;
  std::byte *shared = nullptr;
  Barrier barriers[16];
  std::uint32_t unfinished = 0;  // number of warps
  std::size_t next_warp = 0;
};

// The blocks of a cluster, by rank. One worker runs all of them. A launch without clusters has clusters of
// one block.
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  bool is_sampled = false;
};

struct Worker {
  Launch *launch = nullptr;
  CachedRange reads[cached_ranges], writes[cached_ranges];
  std::vector<std::unique_ptr<Cluster>> spare, spare_sampled;
  std::uint64_t instructions = 0, thread_instructions = 0;
  Counts counts;  // empty unless the code or the sample counts
  SampledCosts costs;
  std::vector<Extent> extents;  // by number of the instruction; empty without a sample
};

// Shared memory of each block in front of its variables, for the system. A block can access it. Measured on
// an H200, as are the offsets that special registers return.
inline constexpr std::uint32_t reserved_shared_bytes = 1024;

// Returns the bytes of shared memory that a block has if it requests `bytes`: the next multiple of 128, as
// %total_smem_size is on an H200. The block may access all of them.
constexpr std::uint64_t rounded_shared_bytes(std::uint64_t bytes) {
  return (bytes + 127) & ~std::uint64_t{127};
}

struct Launch {  // NOLINT(clang-analyzer-optin.performance.Padding): its counters have own cache lines
  const Code *code = nullptr;
  const FunctionCode *kernel = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;
  Memory *memory = nullptr;
  Limits limits;
  const Print *print = nullptr;
  std::mutex print_mutex, fault_mutex, counts_mutex;
  Counts counts;
  // The sampled blocks run by this code; null: none are sampled.
  const Code *sampled_code = nullptr;
  const FunctionCode *sampled_kernel = nullptr;
  std::uint64_t sampled_clusters = 0, l1_sectors = 0;
  bool runs_only_sample = false;
  SampledCosts costs;
  std::vector<Extent> extents;
  std::atomic<bool> faulted{false};
  Fault fault;
  std::uint64_t clusters = 0, shared_bytes = 0, local_bytes = 0;
  std::uint64_t shared_limit = 0;  // the part of shared_bytes that may be accessed
  KernelChecker *checker = nullptr;
  std::uint64_t resident_limit = 1;  // clusters of a worker
  // Adjacent clusters that a worker claims at once. Adjacent blocks often use adjacent memory: blocks on
  // alternating processors made a vector addition slower on two than on one.
  std::uint64_t claimed_clusters = 1;
  std::uint32_t threads = 0, warps = 0;
  // Workers write these while they read the others, so these have cache lines of their own.
  alignas(64) std::atomic<std::uint64_t> next_cluster{0};
  alignas(64) std::atomic<std::uint64_t> instructions{0}, thread_instructions{0};
};

inline WarpState &state(Warp &w) { return static_cast<WarpState &>(w); }

inline constexpr std::int64_t slice = 4096;  // instructions until a waiting warp yields

// Stores the fault of a lane and stops the warp. Returns nullptr.
const Op *fault(Warp &, const Op *, FaultKind, unsigned lane, std::uint64_t address = 0,
                std::string message = {});

// Sets the lines of a position from those of an instruction.
void set_source(ThreadPosition &, const Code &, const InstructionSource &);

// Counts the instructions since the last control transfer of the running path, which ends with this one.
inline void count_run(Warp &w, const Op *op) {
  w.instructions += op->length;
  w.thread_instructions += std::uint64_t{op->length} * static_cast<unsigned>(__builtin_popcount(w.mask));
}
// Makes `path` the running path.
void resume(WarpState &, std::size_t path);
// Makes a join at an operation, which expects the lanes of a path.
Join *new_join(WarpState &, const Op *at, const Path &);
// Removes lanes from the running path and its joins.
const Op *exit_lanes(WarpState &, const Op *, std::uint32_t lanes_mask);
// Suspends the running path: returns the next operation of another path, or nullptr.
const Op *next_path(WarpState &);
// Releases lanes that wait in a join. Returns false if there are none.
bool leave_join(WarpState &);
void complete_rendezvous(WarpState &);
bool complete_barriers(Block &);
// Releases the barrier of a cluster if every lane that has not exited is there. Returns false if one is
// missing.
bool complete_cluster_barrier(Cluster &);

// Control flow operations, which decode.cpp uses.
const Op *branch(Warp &, const Op *);          // data: target
const Op *branch_if(Warp &, const Op *);       // data: target; inner: join; guard
const Op *branch_indexed(Warp &, const Op *);  // data: BranchTable
const Op *join(Warp &, const Op *);
const Op *call(Warp &, const Op *);  // data: CallSite
const Op *return_(Warp &, const Op *);
const Op *exit_(Warp &, const Op *);
const Op *trap(Warp &, const Op *);
const Op *guarded(Warp &, const Op *);
const Op *barrier(Warp &, const Op *);
const Op *cluster_wait(Warp &, const Op *);
const Op *rendezvous(Warp &, const Op *);
const Op *rounded(Warp &, const Op *);

// Returns the factor by which an approximate division scales both operands.
inline float division_scale(float divisor, bool flushes, bool is_full) {
  const float magnitude = divisor < 0 ? -divisor : divisor;
  if (!flushes && magnitude < 0x1p-126f) return 0x1p24f;
  return is_full && magnitude > 0x1p126f ? 0x1p-2f : 1;
}

// The other operations, by key, with the same signatures as lane operations.
extern const LaneTable approximate_operations;
extern const LaneTable asynchronous_operations;
extern const LaneTable atomic_operations;
extern const LaneTable cluster_launch_operations;
extern const LaneTable division_operations;
extern const LaneTable exchange_operations;
extern const LaneTable multimem_operations;
extern const LaneTable scalar_operations;
extern const LaneTable surface_operations;
extern const LaneTable texture_operations;
extern const LaneTable special_register_operations;

const Op *call_builtin(WarpState &, const Op *, const CallSite &);
std::uint32_t builtin(std::string_view name);  // 0: none

}  // namespace cushim::ptx::execute
