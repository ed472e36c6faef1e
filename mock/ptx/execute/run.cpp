// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <system_error>
#include <thread>

#include "execute/machine.hpp"

namespace cushim::ptx {

std::uint64_t Memory::allocate(std::uint64_t) { return 0; }
void Memory::release(std::uint64_t) {}

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
    w.kernel_frame.local_top = kernel.local_bytes;
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

void start(Block &block, const Launch &launch, std::uint64_t index) {
  block.index = index;
  block.id = position(index, launch.shape.grid);
  block.unfinished = launch.warps;
  block.next_warp = 0;
  std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier{});
  for (const auto &one : block.warps) {
    WarpState &w = *one;
    w.live = w.lanes_mask;
    w.paths.assign(1,
                   Path{launch.kernel->ops.data(), w.live, PathState::ready, 0, 0, &w.kernel_frame, nullptr});
    w.kernel_frame.users = w.live;
    w.free_joins.insert(w.free_joins.end(), w.used_joins.begin(), w.used_joins.end());
    w.used_joins.clear();
    w.finished = false;
    w.waits = false;
    std::fill(std::begin(w.arrived), std::end(w.arrived), 0u);
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

enum class Turn { done, waits, fault };

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
    if (ran) continue;
    // All warps are blocked: release lanes from joins, as the other lanes may wait for them.
    bool left = false;
    for (const auto &w : block.warps) {
      if (w->finished) continue;
      left |= leave_join(*w);
      complete_rendezvous(*w);
      for (const Path &path : w->paths) left |= path.state == PathState::ready;
    }
    if (!left) {
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

std::uint64_t block_bytes(const Launch &launch) {
  return launch.shared_bytes +
         launch.warps * (sizeof(WarpState) + launch.kernel->frame_bytes + lanes * launch.local_bytes);
}

// Runs blocks to their end one after the other. If no resident block ends, they may wait for each other: the
// number of resident blocks then doubles.
void work(Launch &launch) {
  Worker worker;
  worker.launch = &launch;
  std::deque<std::unique_ptr<Block>> resident;
  std::size_t wanted = 1;
  const auto admit = [&] {
    while (resident.size() < wanted) {
      const std::uint64_t index = launch.next_block.fetch_add(1, std::memory_order_relaxed);
      if (index >= launch.blocks) return;
      std::unique_ptr<Block> block;
      if (worker.spare.empty()) {
        block = make_block(worker);
      } else {
        block = std::move(worker.spare.back());
        worker.spare.pop_back();
      }
      start(*block, launch, index);
      resident.push_back(std::move(block));
    }
  };
  for (;;) {
    admit();
    if (resident.empty()) break;
    bool any_done = false;
    for (std::size_t i = resident.size(); i-- != 0;) {
      auto block = std::move(resident.front());
      resident.pop_front();
      const Turn turn = run_block(worker, *block);
      if (turn == Turn::fault || launch.faulted) {
        launch.faulted = true;
        goto end;
      }
      if (turn == Turn::done) {
        worker.spare.push_back(std::move(block));
        any_done = true;
      } else {
        resident.push_back(std::move(block));
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

// A pool of threads that help with launches. They start with the first launch that can use them, block the
// program's signals, and never end: the program may exit while they run, and a forked child has none of them.
class Pool {
 public:
  static Pool &instance() {
    static Pool &pool = *new Pool;
    return pool;
  }
  // Runs `launch` on the caller and up to `helpers` threads.
  void run(Launch &launch, unsigned helpers) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    // With several launches at once, each runs on its caller's thread.
    if (!lock.owns_lock() || launch_ != nullptr) {
      if (lock.owns_lock()) lock.unlock();
      return work(launch);
    }
    start_threads(helpers);
    launch_ = &launch;
    wanted_ = std::min(helpers, threads_);
    lock.unlock();
    wake_.notify_all();
    work(launch);
    lock.lock();
    wanted_ = 0;
    done_.wait(lock, [this] { return running_ == 0; });
    launch_ = nullptr;
  }

 private:
  // Starts fewer threads if the system has no more.
  void start_threads(unsigned count) {
    sigset_t all, before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; threads_ < count; ++threads_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error &) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return wanted_ != 0; });
      --wanted_;
      ++running_;
      Launch &launch = *launch_;
      lock.unlock();
      work(launch);
      lock.lock();
      if (--running_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  unsigned threads_ = 0;
  Launch *launch_ = nullptr;
  unsigned wanted_ = 0, running_ = 0;
};

}  // namespace

const Op *fault(Warp &warp, const Op *op, FaultKind kind, unsigned lane, std::uint64_t address,
                std::string message) {
  WarpState &w = state(warp);
  w.stop = Stop::fault;
  Launch &launch = *w.worker->launch;
  const std::lock_guard lock(launch.fault_mutex);
  if (launch.fault.kind != FaultKind::none) return nullptr;
  Fault &fault = launch.fault;
  fault.kind = kind;
  fault.kernel = launch.kernel->name;
  fault.block = w.block->id;
  fault.thread = {w.special.tid[0][lane], w.special.tid[1][lane], w.special.tid[2][lane]};
  fault.address = address;
  fault.message = std::move(message);
  const FunctionCode *function = launch.kernel;
  if (!w.paths.empty() && w.current < w.paths.size()) function = w.paths[w.current].frame->function;
  if (op->source < function->sources.size()) {
    const InstructionSource &source = function->sources[op->source];
    fault.line = source.line;
    fault.source_line = source.source_line;
    if (const auto file = launch.code->files.find(source.file);
        source.source_line != 0 && file != launch.code->files.end())
      fault.source_file = file->second;
  }
  return nullptr;
}

void fault_address(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned alignment) {
  const bool misaligned = (address & (alignment - 1)) != 0;
  fault(w, op, misaligned ? FaultKind::misaligned_address : FaultKind::illegal_address, lane, address);
}

std::byte *resolve_global(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                          bool write) {
  CachedRange &range = (write ? w.writes : w.reads)[op->cache];
  if (address - range.begin < range.bytes && bytes <= range.bytes - (address - range.begin))
    return range.host + (address - range.begin);
  const Resolved found =
      w.worker->launch->memory->resolve(address, bytes, write ? Access::write : Access::read);
  if (found.host == nullptr || found.bytes < bytes) {
    fault(w, op, FaultKind::illegal_address, lane, address);
    return nullptr;
  }
  range = {address - found.before, found.before + found.bytes, found.host - found.before};
  return found.host;
}

std::byte *resolve_generic(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                           bool write) {
  if (address < shared_window) return resolve_global(w, op, lane, address, bytes, write);
  if (address < local_window) {
    const std::uint64_t at = address - shared_window;
    if (at < w.shared_bytes && bytes <= w.shared_bytes - at) return w.shared + at;
  } else if (address < parameter_window) {
    const std::uint64_t at = address - local_window;
    if (at < w.local_bytes && bytes <= w.local_bytes - at) return w.local + lane * w.local_bytes + at;
  } else if (!write) {
    const std::uint64_t at = address - parameter_window;
    if (at < w.parameter_bytes && bytes <= w.parameter_bytes - at)
      return const_cast<std::byte *>(w.parameters) + at;
  }
  fault(w, op, FaultKind::illegal_address, lane, address);
  return nullptr;
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
  if (found == code.kernels.end() || shape.block.count() == 0 || shape.block.count() > 1024) {
    result.fault.kind = FaultKind::illegal_instruction;
    result.fault.kernel = kernel;
    result.fault.message = found == code.kernels.end() ? "no such kernel" : "no such block";
    return result;
  }
  launch.code = &code;
  launch.kernel = found->second;
  launch.shape = shape;
  launch.parameters.assign(parameters.begin(), parameters.end());
  launch.parameters.resize(std::max<std::size_t>(parameters.size(), launch.kernel->info.parameter_bytes) +
                           16);
  launch.memory = &memory;
  launch.limits = limits;
  launch.print = &print;
  launch.blocks = shape.grid.count();
  launch.threads = static_cast<std::uint32_t>(shape.block.count());
  launch.warps = (launch.threads + lanes - 1) / lanes;
  launch.shared_bytes =
      (launch.kernel->static_shared + std::uint64_t{shape.dynamic_shared_bytes} + 15) & ~15ull;
  launch.local_bytes =
      (launch.kernel->local_bytes + (launch.kernel->calls ? limits.stack_bytes : 0) + 15) & ~15ull;
  unsigned workers = limits.workers != 0 ? limits.workers : std::max(1u, std::thread::hardware_concurrency());
  workers = static_cast<unsigned>(std::min<std::uint64_t>(workers, launch.blocks));
  launch.resident_limit = std::max<std::uint64_t>(1, limits.resident_bytes / workers / block_bytes(launch));
  if (launch.blocks != 0) {
    if (workers > 1)
      Pool::instance().run(launch, workers - 1);
    else
      work(launch);
  }
  result.fault = std::move(launch.fault);
  result.warp_instructions = launch.instructions;
  result.thread_instructions = launch.thread_instructions;
  return result;
}

}  // namespace cushim::ptx
