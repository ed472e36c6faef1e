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
  std::uint32_t index = 0;
  std::uint32_t arrived[16] = {};     // mask of the lanes at each barrier of the block
  std::uint32_t cluster_arrived = 0;  // mask of the lanes at the barrier of the cluster
  std::uint64_t exchange[lanes];      // operands of the lanes in a rendezvous
  std::uint32_t rendezvous_mask = 0;  // mask of those lanes
  std::uint32_t carry = 0;            // CC.CF of each lane
  Special special;
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
};

struct Worker {
  Launch *launch = nullptr;
  CachedRange reads[cached_ranges], writes[cached_ranges];
  std::vector<std::unique_ptr<Cluster>> spare;
  std::uint64_t instructions = 0, thread_instructions = 0;
};

struct Launch {
  const Code *code = nullptr;
  const FunctionCode *kernel = nullptr;
  LaunchShape shape;
  std::vector<std::byte> parameters;
  Memory *memory = nullptr;
  Limits limits;
  const Print *print = nullptr;
  std::mutex print_mutex, fault_mutex;
  std::atomic<bool> faulted{false};
  Fault fault;
  std::atomic<std::uint64_t> next_cluster{0}, instructions{0}, thread_instructions{0};
  std::uint64_t clusters = 0, shared_bytes = 0, local_bytes = 0;
  std::uint64_t resident_limit = 1;  // clusters of a worker
  std::uint32_t threads = 0, warps = 0;
};

inline WarpState &state(Warp &w) { return static_cast<WarpState &>(w); }

inline constexpr std::int64_t slice = 4096;  // instructions until a waiting warp yields

// Stores the fault of a lane and stops the warp. Returns nullptr.
const Op *fault(Warp &, const Op *, FaultKind, unsigned lane, std::uint64_t address = 0,
                std::string message = {});

// Makes `path` the running path.
void resume(WarpState &, std::size_t path);
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

// The other operations, by key, with the same signatures as lane operations.
LaneTable approximate_operations();
LaneTable asynchronous_operations();
LaneTable atomic_operations();
LaneTable cluster_launch_operations();
LaneTable exchange_operations();
LaneTable scalar_operations();
LaneTable surface_operations();
LaneTable texture_operations();
LaneTable special_register_operations();

const Op *call_builtin(WarpState &, const Op *, const CallSite &);
std::uint32_t builtin(std::string_view name);  // 0: none

}  // namespace cushim::ptx::execute
