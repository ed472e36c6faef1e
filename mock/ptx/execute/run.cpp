// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <thread>

#include "execute/pool.hpp"

namespace cushim::ptx {

std::uint64_t Memory::allocate(std::uint64_t) { return 0; }
void Memory::release(std::uint64_t) {}
const Texture *Memory::texture(std::uint64_t) { return nullptr; }
const Surface *Memory::surface(std::uint64_t) { return nullptr; }
bool Memory::set_conditional(std::uint64_t, std::uint32_t) { return false; }

std::string_view name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::illegal_address:
      return "illegal address";
    case FaultKind::misaligned_address:
      return "misaligned address";
    case FaultKind::illegal_instruction:
      return "illegal instruction";
    case FaultKind::trap:
      return "trap";
    case FaultKind::assertion:
      return "assertion";
    case FaultKind::stack_overflow:
      return "stack overflow";
    case FaultKind::instruction_budget:
      return "instruction budget";
  }
  return "?";
}

const KernelInfo *Program::kernel(std::string_view kernel_name) const {
  if (!code_) return nullptr;
  const auto found = code_->kernels.find(std::string{kernel_name});
  return found == code_->kernels.end() ? nullptr : &found->second->info;
}

namespace execute {
namespace {

std::byte *aligned(std::vector<std::byte> &storage, std::size_t bytes) {
  storage.resize(bytes + 64);
  return reinterpret_cast<std::byte *>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) &
                                       ~std::uintptr_t{63});
}

Dim3 position(std::uint64_t index, const Dim3 &size) {
  return {static_cast<std::uint32_t>(index % size.x), static_cast<std::uint32_t>(index / size.x % size.y),
          static_cast<std::uint32_t>(index / (std::uint64_t{size.x} * size.y))};
}

bool divides(const Dim3 &part, const Dim3 &whole) {
  return part.count() != 0 && whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

// Makes a block and sets the state that all blocks that reuse its memory share.
std::unique_ptr<Block> make_block(Worker &worker) {
  const Launch &launch = *worker.launch;
  const FunctionCode &kernel = *launch.kernel;
  auto block = std::make_unique<Block>();
  block->shared = aligned(block->shared_storage, launch.shared_bytes);
  for (std::uint32_t i = 0; i < launch.warps; ++i) {
    auto &w = *block->warps.emplace_back(std::make_unique<WarpState>());
    const std::uint32_t threads = std::min<std::uint32_t>(lanes, launch.threads - i * lanes);
    w.lanes_mask = threads == lanes ? ~0u : (1u << threads) - 1;
    w.index = i;
    w.reads = worker.reads;
    w.writes = worker.writes;
    w.parameters = launch.parameters.data();
    w.parameter_bytes = launch.parameters.size();
    w.shared = block->shared;
    w.shared_bytes = launch.shared_bytes;
    w.block = block.get();
    w.worker = &worker;
    w.local_bytes = launch.local_bytes;
    w.local = aligned(w.local_storage, lanes * launch.local_bytes);
    w.kernel_frame.registers = aligned(w.kernel_frame.storage, kernel.frame_bytes);
    w.kernel_frame.function = &kernel;
    std::memcpy(w.kernel_frame.registers, kernel.constants.data(), kernel.constants.size());
    if (kernel.calls) w.free_frames.resize(launch.code->functions.size());
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const Dim3 thread = position(std::uint64_t{i} * lanes + lane, launch.shape.block);
      w.special.tid[0][lane] = thread.x;
      w.special.tid[1][lane] = thread.y;
      w.special.tid[2][lane] = thread.z;
    }
  }
  return block;
}

void start(Block &block, const Launch &launch) {
  block.unfinished = launch.warps;
  block.next_warp = 0;
  std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier{});
  for (const auto &one : block.warps) {
    WarpState &w = *one;
    w.live = w.lanes_mask;
    w.paths.assign(1,
                   Path{launch.kernel->ops.data(), w.live, PathState::ready, 0, 0, &w.kernel_frame, nullptr});
    w.kernel_frame.users = w.live;
    w.kernel_frame.local_top = launch.kernel->local_bytes;
    w.free_joins.insert(w.free_joins.end(), w.used_joins.begin(), w.used_joins.end());
    w.used_joins.clear();
    w.finished = false;
    w.waits = false;
    w.cluster_arrived = 0;
    std::fill(std::begin(w.arrived), std::end(w.arrived), 0u);
  }
}

std::unique_ptr<Cluster> make_cluster(Worker &worker) {
  auto cluster = std::make_unique<Cluster>();
  for (std::uint64_t rank = 0; rank < worker.launch->shape.cluster.count(); ++rank) {
    auto &block = *cluster->blocks.emplace_back(make_block(worker));
    block.cluster = cluster.get();
    block.rank = static_cast<std::uint32_t>(rank);
  }
  return cluster;
}

void start(Cluster &cluster, const Launch &launch, std::uint64_t index) {
  const Dim3 &grid = launch.shape.grid, &size = launch.shape.cluster;
  if (cluster.blocks.size() == 1) {
    Block &block = *cluster.blocks.front();
    block.id = position(index, grid);
    block.index = index;
    return start(block, launch);
  }
  const Dim3 first = position(index, {grid.x / size.x, grid.y / size.y, grid.z / size.z});
  for (const auto &block : cluster.blocks) {
    const Dim3 within = position(block->rank, size);
    block->id = {first.x * size.x + within.x, first.y * size.y + within.y, first.z * size.z + within.z};
    block->index = block->id.x + std::uint64_t{grid.x} * (block->id.y + std::uint64_t{grid.y} * block->id.z);
    start(*block, launch);
  }
}

// Counts what the warp has executed. Returns false if the launch must end.
bool account(Worker &worker, WarpState &w) {
  Launch &launch = *worker.launch;
  worker.instructions += w.instructions;
  worker.thread_instructions += w.thread_instructions;
  const std::uint64_t executed = w.instructions;
  w.instructions = w.thread_instructions = 0;
  if (launch.limits.instructions != 0) {
    const std::uint64_t all = launch.instructions.fetch_add(executed) + executed;
    if (all > launch.limits.instructions) {
      fault(w, w.paths.empty() ? launch.kernel->ops.data() : w.paths[w.current].pc,
            FaultKind::instruction_budget, static_cast<unsigned>(__builtin_ctz(w.mask | 1u << 31)));
      return false;
    }
  }
  return !launch.faulted.load(std::memory_order_relaxed);
}

enum class Turn { done, waits, at_cluster_barrier, fault };

// Runs a warp until it is done, is blocked, or has used up its slice in a waiting loop.
Stop run_warp(Worker &worker, WarpState &w) {
  for (std::size_t i = 0;; ++i) {
    if (i == w.paths.size()) return Stop::blocked;
    if (w.paths[i].state == PathState::ready) break;
  }
  w.stop = Stop::none;
  const Op *op = next_path(w);
  for (;;) {
    w.budget = slice;
    w.stop = Stop::none;
    while (op != nullptr) op = op->run(w, op);
    const bool go_on = account(worker, w);
    if (w.stop == Stop::fault || !go_on) return Stop::fault;
    if (w.stop != Stop::slice) return w.stop;
    if (w.waits) break;
    op = w.paths[w.current].pc;
  }
  w.waits = false;
  // Run another path first the next time.
  const std::size_t ready = static_cast<std::size_t>(std::count_if(
      w.paths.begin(), w.paths.end(), [](const Path &path) { return path.state == PathState::ready; }));
  if (ready == 1) leave_join(w);
  if (w.current + 1 == w.paths.size() || w.paths.size() > 1)
    std::rotate(w.paths.begin(), w.paths.end() - 1, w.paths.end());
  return Stop::slice;
}

bool has_ready_path(const Block &block) {
  for (const auto &w : block.warps)
    for (const Path &path : w->paths)
      if (path.state == PathState::ready) return true;
  return false;
}

bool waits_for_cluster(const Block &block) {
  for (const auto &w : block.warps)
    for (const Path &path : w->paths)
      if (path.state == PathState::cluster_barrier) return true;
  return false;
}

Turn run_block(Worker &worker, Block &block) {
  for (;;) {
    bool ran = false, waits = false;
    for (const auto &one : block.warps) {
      WarpState &w = *one;
      if (w.finished) continue;
      const Stop stop = run_warp(worker, w);
      if (stop == Stop::fault) return Turn::fault;
      if (stop == Stop::slice) waits = true;
      if (stop == Stop::done) {
        w.finished = true;
        --block.unfinished;
        ran = true;
      }
    }
    if (block.unfinished == 0) return Turn::done;
    if (complete_barriers(block)) continue;
    if (waits) return Turn::waits;
    if (ran || has_ready_path(block)) continue;  // a warp may have released others that ran before it
    // All warps are blocked: release lanes from joins, as the other lanes may wait for them.
    for (const auto &w : block.warps) {
      if (w->finished) continue;
      leave_join(*w);
      complete_rendezvous(*w);
    }
    if (!has_ready_path(block)) {
      if (waits_for_cluster(block)) return Turn::at_cluster_barrier;
      for (const auto &w : block.warps) {
        if (w->finished) continue;
        resume(*w, 0);
        fault(*w, w->paths[0].pc, FaultKind::instruction_budget,
              static_cast<unsigned>(__builtin_ctz(w->paths[0].mask)), 0, "no thread of the block can go on");
        return Turn::fault;
      }
    }
  }
}

// Runs the blocks of a cluster in turn.
Turn run_cluster(Worker &worker, Cluster &cluster) {
  if (cluster.blocks.size() == 1)
    if (const Turn turn = run_block(worker, *cluster.blocks.front());
        turn == Turn::done || turn == Turn::fault)
      return turn;
  for (;;) {
    bool waits = false, blocked = false;
    for (const auto &block : cluster.blocks) {
      if (block->unfinished == 0) continue;
      const Turn turn = run_block(worker, *block);
      if (turn == Turn::fault) return turn;
      waits |= turn == Turn::waits;
      blocked |= turn == Turn::at_cluster_barrier;
    }
    if (complete_cluster_barrier(cluster)) continue;
    if (!waits && !blocked) return Turn::done;
    if (waits) return Turn::waits;
    for (const auto &block : cluster.blocks)
      for (const auto &w : block->warps)
        if (!w->finished && !w->paths.empty()) {
          resume(*w, 0);
          fault(*w, w->paths[0].pc, FaultKind::instruction_budget,
                static_cast<unsigned>(__builtin_ctz(w->paths[0].mask)), 0,
                "no thread of the cluster can go on");
          return Turn::fault;
        }
  }
}

std::uint64_t cluster_bytes(const Launch &launch) {
  return launch.shape.cluster.count() *
         (launch.shared_bytes +
          launch.warps * (sizeof(WarpState) + launch.kernel->frame_bytes + lanes * launch.local_bytes));
}

}  // namespace

// Runs clusters to their end one after the other. If no resident cluster ends, they may wait for each other:
// the number of resident clusters then doubles.
void work(Launch &launch) {
  Worker worker;
  worker.launch = &launch;
  std::deque<std::unique_ptr<Cluster>> resident;
  std::size_t wanted = 1;
  const auto admit = [&] {
    while (resident.size() < wanted) {
      const std::uint64_t index = launch.next_cluster.fetch_add(1, std::memory_order_relaxed);
      if (index >= launch.clusters) return;
      std::unique_ptr<Cluster> cluster;
      if (worker.spare.empty()) {
        cluster = make_cluster(worker);
      } else {
        cluster = std::move(worker.spare.back());
        worker.spare.pop_back();
      }
      start(*cluster, launch, index);
      resident.push_back(std::move(cluster));
    }
  };
  for (;;) {
    admit();
    if (resident.empty()) break;
    bool any_done = false;
    for (std::size_t i = resident.size(); i-- != 0;) {
      auto cluster = std::move(resident.front());
      resident.pop_front();
      const Turn turn = run_cluster(worker, *cluster);
      if (turn == Turn::fault || launch.faulted) {
        launch.faulted = true;
        goto end;
      }
      if (turn == Turn::done) {
        worker.spare.push_back(std::move(cluster));
        any_done = true;
      } else {
        resident.push_back(std::move(cluster));
      }
    }
    if (!any_done) {
      if (wanted < launch.resident_limit) wanted = std::min<std::size_t>(wanted * 2, launch.resident_limit);
      std::this_thread::yield();
    }
  }
end:
  launch.thread_instructions += worker.thread_instructions;
  if (launch.limits.instructions == 0) launch.instructions += worker.instructions;
}

}  // namespace execute

LaunchResult run(const Program &program, std::string_view kernel, const LaunchShape &shape,
                 std::span<const std::byte> parameters, Memory &memory, const Limits &limits,
                 const Print &print) {
  using namespace execute;
  LaunchResult result;
  const Code &code = program.code();
  const auto found = code.kernels.find(std::string{kernel});
  Launch launch;
  launch.shape = shape;
  if (found != code.kernels.end() && shape.cluster.count() == 1)
    launch.shape.cluster = found->second->required_cluster;
  const char *const refusal = found == code.kernels.end()                              ? "no such kernel"
                              : shape.block.count() == 0 || shape.block.count() > 1024 ? "no such block"
                              : !divides(launch.shape.cluster, shape.grid)             ? "no such cluster"
                                                                                       : nullptr;
  if (refusal != nullptr) {
    result.fault.kind = FaultKind::illegal_instruction;
    result.fault.kernel = kernel;
    result.fault.message = refusal;
    return result;
  }
  launch.code = &code;
  launch.kernel = found->second;
  launch.parameters.assign(parameters.begin(), parameters.end());
  launch.parameters.resize(std::max<std::size_t>(parameters.size(), launch.kernel->info.parameter_bytes) +
                           16);
  launch.memory = &memory;
  launch.limits = limits;
  launch.print = &print;
  launch.clusters = shape.grid.count() / launch.shape.cluster.count();
  launch.threads = static_cast<std::uint32_t>(shape.block.count());
  launch.warps = (launch.threads + lanes - 1) / lanes;
  launch.shared_bytes =
      (launch.kernel->static_shared + std::uint64_t{shape.dynamic_shared_bytes} + 15) & ~15ull;
  launch.local_bytes =
      (launch.kernel->local_bytes + (launch.kernel->calls ? limits.stack_bytes : 0) + 15) & ~15ull;
  unsigned workers = limits.workers != 0 ? limits.workers : std::max(1u, std::thread::hardware_concurrency());
  workers = static_cast<unsigned>(std::min<std::uint64_t>(workers, launch.clusters));
  launch.resident_limit = std::max<std::uint64_t>(1, limits.resident_bytes / workers / cluster_bytes(launch));
  if (launch.clusters != 0) {
    if (workers > 1)
      run_on_pool(launch, workers - 1);
    else
      work(launch);
  }
  result.fault = std::move(launch.fault);
  result.warp_instructions = launch.instructions;
  result.thread_instructions = launch.thread_instructions;
  return result;
}

}  // namespace cushim::ptx
