// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "check/kernel_checker.hpp"
#include "execute/launch_costs.hpp"
#include "execute/resident_clusters.hpp"
#include "execute/thread_pool.hpp"

namespace cushim::ptx {

const KernelInfo *Program::kernel(std::string_view kernel_name) const {
  if (!code_) return nullptr;
  const auto found = code_->kernels.find(std::string{kernel_name});
  return found == code_->kernels.end() ? nullptr : &found->second->info;
}

namespace execute {
namespace {

// The number is read once, because the C library opens a file for it, which takes microseconds.
unsigned processors() {
  static const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

bool divides(const Dim3 &part, const Dim3 &whole) {
  return part.count() != 0 && whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
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

std::size_t count_ready(const WarpState &w) {
  return static_cast<std::size_t>(std::count_if(
      w.paths.begin(), w.paths.end(), [](const Path &path) { return path.state == PathState::ready; }));
}

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
  // Once every path that can run waits, it may wait for lanes in a join.
  if (++w.waiting_slices >= count_ready(w)) {
    leave_join(w);
    w.waiting_slices = 0;
  }
  // Run another path first the next time.
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
      if (worker.launch->checker != nullptr) worker.launch->checker->blocked(block);
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
          if (worker.launch->checker != nullptr) worker.launch->checker->blocked(*block);
          resume(*w, 0);
          fault(*w, w->paths[0].pc, FaultKind::instruction_budget,
                static_cast<unsigned>(__builtin_ctz(w->paths[0].mask)), 0,
                "no thread of the cluster can go on");
          return Turn::fault;
        }
  }
}

}  // namespace

// Runs clusters to their end one after the other. If no resident cluster ends, they may wait for each other:
// the number of resident clusters then doubles.
void work(Launch &launch) {
  Worker worker;
  worker.launch = &launch;
  if (launch.code->counts || launch.sampled_code != nullptr) worker.counts.resize(launch.code->instructions);
  if (launch.sampled_code != nullptr) worker.extents.resize(launch.code->instructions);
  std::deque<std::unique_ptr<Cluster>> resident;
  std::size_t wanted = 1;
  std::uint64_t next = 0, end = 0;  // the clusters that this worker has claimed
  const auto admit = [&] {
    while (resident.size() < wanted) {
      if (next == end) {
        next = launch.next_cluster.fetch_add(launch.claimed_clusters, std::memory_order_relaxed);
        end = next + launch.claimed_clusters;
      }
      if (next >= launch.clusters) return;
      const std::uint64_t index = next++;
      std::unique_ptr<Cluster> cluster;
      const bool is_sampled = launch.sampled_code != nullptr && belongs_to_sample(launch, index);
      if (launch.runs_only_sample && !is_sampled) continue;
      auto &spare = is_sampled ? worker.spare_sampled : worker.spare;
      if (spare.empty()) {
        cluster = make_cluster(worker, is_sampled);
      } else {
        cluster = std::move(spare.back());
        spare.pop_back();
      }
      start(*cluster, launch, index);
      if (is_sampled) start_costs(*cluster);
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
        if (cluster->is_sampled) add_costs(worker, *cluster);
        (cluster->is_sampled ? worker.spare_sampled : worker.spare).push_back(std::move(cluster));
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
  if (launch.checker != nullptr) launch.checker->finish();
  launch.thread_instructions += worker.thread_instructions;
  if (launch.limits.instructions == 0) launch.instructions += worker.instructions;
  if (worker.counts.empty()) return;
  const std::lock_guard lock(launch.counts_mutex);
  if (!worker.extents.empty()) merge_costs(launch, worker);
  if (!launch.code->counts) return;
  if (launch.counts.empty()) {
    launch.counts = std::move(worker.counts);
    return;
  }
  for (std::size_t i = 0; i < launch.counts.size(); ++i) launch.counts[i] += worker.counts[i];
}

}  // namespace execute

LaunchResult run(const Program &program, std::string_view kernel, const LaunchShape &shape,
                 std::span<const std::byte> parameters, Memory &memory, const RunOptions &options) {
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
  launch.limits = options.limits;
  launch.print = &options.print;
  launch.clusters = shape.grid.count() / launch.shape.cluster.count();
  if (const Sample *const sample = options.sample;
      sample != nullptr && sample->program && launch.clusters != 0) {
    launch.sampled_code = &sample->program.code();
    launch.sampled_kernel = launch.sampled_code->kernels.at(launch.kernel->name);
    launch.sampled_clusters = std::min(launch.clusters, sample->clusters);
    launch.l1_sectors = sample->l1_bytes / 32;
    launch.runs_only_sample = sample->runs_alone;
  }
  launch.threads = static_cast<std::uint32_t>(shape.block.count());
  launch.warps = (launch.threads + lanes - 1) / lanes;
  launch.shared_bytes =
      rounded_shared_bytes(launch.kernel->static_shared + std::uint64_t{shape.dynamic_shared_bytes});
  launch.local_bytes =
      (launch.kernel->local_bytes + (launch.kernel->calls ? options.limits.stack_bytes : 0) + 15) & ~15ull;
  launch.shared_limit = launch.shared_bytes;
  std::unique_ptr<KernelChecker> checker;
  if (options.checks.is_on != std::array<bool, check_count>{}) [[unlikely]] {
    if (options.checks[Check::memory]) {
      launch.shared_limit = launch.kernel->static_shared + std::uint64_t{shape.dynamic_shared_bytes};
      if (!launch.kernel->calls) launch.local_bytes = launch.kernel->local_bytes;
    }
    checker = std::make_unique<KernelChecker>(launch, options.checks);
    launch.checker = checker.get();
  }
  unsigned workers = launch.limits.workers != 0 ? launch.limits.workers : processors();
  if (checker) workers = 1;
  workers = static_cast<unsigned>(std::min<std::uint64_t>(workers, launch.clusters));
  constexpr std::uint64_t claims_of_worker = 32, most_claimed = 64;
  launch.claimed_clusters =
      std::clamp<std::uint64_t>(launch.clusters / (workers * claims_of_worker + 1), 1, most_claimed);
  launch.resident_limit =
      std::max<std::uint64_t>(1, launch.limits.resident_bytes / workers / cluster_bytes(launch));
  if (launch.clusters != 0) {
    if (workers > 1)
      run_on_pool(launch, workers - 1);
    else
      work(launch);
  }
  result.fault = std::move(launch.fault);
  result.warp_instructions = launch.instructions;
  result.thread_instructions = launch.thread_instructions;
  result.counts = std::move(launch.counts);
  if (launch.sampled_code != nullptr) result.costs = costs_of(launch);
  return result;
}

}  // namespace cushim::ptx
