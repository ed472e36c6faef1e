// SPDX-License-Identifier: Apache-2.0
// Addresses of shared, local, parameter and global memory, and faults.
#include <iterator>

#include "check/kernel_checker.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx {

std::uint64_t Memory::allocate(std::uint64_t) { return 0; }
void Memory::release(std::uint64_t) {}
std::vector<std::byte *> Memory::multicast(std::uint64_t, std::uint64_t, Access) { return {}; }
const Texture *Memory::texture(std::uint64_t) { return nullptr; }
const Surface *Memory::surface(std::uint64_t) { return nullptr; }
bool Memory::set_conditional(std::uint64_t, std::uint32_t) { return false; }
bool Memory::is_unwritten(std::uint64_t, std::uint64_t) { return false; }
void Memory::note_written(std::uint64_t, std::uint64_t) {}

std::string_view name(FaultKind kind) {
  static constexpr std::string_view names[] = {
      "none", "illegal address", "misaligned address", "illegal instruction",
      "trap", "assertion",       "stack overflow",     "instruction budget"};
  static_assert(std::size(names) == static_cast<std::size_t>(FaultKind::instruction_budget) + 1);
  return names[static_cast<std::size_t>(kind)];
}

namespace execute {

void set_source(ThreadPosition &position, const Code &code, const InstructionSource &source) {
  position.line = source.line;
  position.source_line = source.source_line;
  if (const auto file = code.files.find(source.file); source.source_line != 0 && file != code.files.end())
    position.source_file = file->second;
}

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
  if (op->source < function->sources.size()) set_source(fault, *launch.code, function->sources[op->source]);
  if (w.checker != nullptr && fault.message.empty()) w.checker->faults(w, op, lane, kind, address);
  return nullptr;
}

void fault_address(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned alignment) {
  const bool misaligned = (address & (alignment - 1)) != 0;
  fault(w, op, misaligned ? FaultKind::misaligned_address : FaultKind::illegal_address, lane, address);
}

std::byte *resolve_global(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                          Access access) {
  const auto note = [&](std::byte *host) {
    if (w.checker != nullptr)
      w.checker->accesses(w, op, lane, address, host, bytes, access, MemorySpace::global);
    return host;
  };
  Worker &worker = *w.worker;
  CachedRange &range = (access == Access::read ? worker.reads : worker.writes)[op->cache];
  if (address - range.begin < range.bytes && bytes <= range.bytes - (address - range.begin))
    return note(range.host + (address - range.begin));
  const Resolved found = worker.launch->memory->resolve(address, bytes, access);
  if (found.host == nullptr || found.bytes < bytes) {
    note(nullptr);
    fault(w, op, FaultKind::illegal_address, lane, address);
    return nullptr;
  }
  range = {address - found.before, found.before + found.bytes, found.host - found.before};
  return note(found.host);
}

std::byte *resolve_shared(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                          Access access) {
  const std::uint64_t in_window = address >= shared_window ? address - shared_window : address;
  const std::uint64_t block = in_window / cluster_block_bytes, at = in_window % cluster_block_bytes;
  const std::uint64_t limit = w.worker->launch->shared_limit;
  const auto &blocks = w.block->cluster->blocks;
  const bool is_legal = at < limit && bytes <= limit - at && block <= blocks.size();
  std::byte *const host = is_legal ? (block == 0 ? w.shared : blocks[block - 1]->shared) + at : nullptr;
  if (w.checker != nullptr)
    w.checker->accesses(w, op, lane, address, host, bytes, access, MemorySpace::shared);
  // Measured on an H200, driver 580.159, without a cluster: an address whose upper 8 bits name another block
  // makes the instruction illegal, in .shared and generic.
  const bool names_no_block = blocks.size() == 1 && block != 0;
  if (!is_legal)
    fault(w, op, names_no_block ? FaultKind::illegal_instruction : FaultKind::illegal_address, lane, address);
  return host;
}

std::byte *resolve_generic(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                           Access access) {
  if (address < shared_window) return resolve_global(w, op, lane, address, bytes, access);
  if (address < local_window) return resolve_shared(w, op, lane, address, bytes, access);
  if (address < parameter_window) {
    const std::uint64_t at = address - local_window;
    if (at < w.local_bytes && bytes <= w.local_bytes - at) return w.local + lane * w.local_bytes + at;
  } else if (access == Access::read) {
    const std::uint64_t at = address - parameter_window;
    if (at < w.parameter_bytes && bytes <= w.parameter_bytes - at)
      return const_cast<std::byte *>(w.parameters) + at;
  }
  fault(w, op, FaultKind::illegal_address, lane, address);
  return nullptr;
}

}  // namespace execute
}  // namespace cushim::ptx
