// SPDX-License-Identifier: Apache-2.0
// Addresses of shared, local, parameter and global memory, and faults.
#include "execute/machine.hpp"

namespace cushim::ptx::execute {

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

std::byte *resolve_shared(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes) {
  const std::uint64_t in_window = address >= shared_window ? address - shared_window : address;
  const std::uint64_t block = in_window / cluster_block_bytes, at = in_window % cluster_block_bytes;
  const auto &blocks = w.block->cluster->blocks;
  if (at < w.shared_bytes && bytes <= w.shared_bytes - at && block <= blocks.size())
    return (block == 0 ? w.shared : blocks[block - 1]->shared) + at;
  fault(w, op, FaultKind::illegal_address, lane, address);
  return nullptr;
}

std::byte *resolve_generic(Warp &w, const Op *op, unsigned lane, std::uint64_t address, unsigned bytes,
                           bool write) {
  if (address < shared_window) return resolve_global(w, op, lane, address, bytes, write);
  if (address < local_window) return resolve_shared(w, op, lane, address, bytes);
  if (address < parameter_window) {
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

}  // namespace cushim::ptx::execute
