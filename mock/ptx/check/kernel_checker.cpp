// SPDX-License-Identifier: Apache-2.0
#include "check/kernel_checker.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace cushim::ptx::execute {
namespace {

// The most findings that are kept for one launch.
constexpr std::size_t most_findings = 200;

Dim3 index_in(std::uint64_t index, const Dim3 &size) {
  return {static_cast<std::uint32_t>(index % size.x), static_cast<std::uint32_t>(index / size.x % size.y),
          static_cast<std::uint32_t>(index / (std::uint64_t{size.x} * size.y))};
}

std::uint64_t number(const std::byte *host) { return reinterpret_cast<std::uintptr_t>(host); }

const char *role_of(Access access) {
  return access == Access::read    ? "read by"
         : access == Access::write ? "written by"
                                   : "updated atomically by";
}

std::string address_in(MemorySpace space, std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return std::string("address ") + text + " of " + std::string(name(space)) + " memory";
}

std::string bytes_at(std::uint64_t bytes, MemorySpace space, std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes") + " at " + text + " of " +
         std::string(name(space)) + " memory";
}

}  // namespace

KernelChecker::KernelChecker(const Launch &launch, const Checks &checks)
    : launch_(launch), checks_(checks), races_({launch.threads, launch.warps}) {
  std::uint32_t next = 0;
  for (const FunctionCode &function : launch.code->functions) {
    first_instruction_.push_back(next);
    next += static_cast<std::uint32_t>(function.sources.size());
  }
}

// ---- threads and instructions

std::uint64_t KernelChecker::thread_of(const Warp &w, unsigned lane) const {
  return w.block->index * launch_.threads + static_cast<const WarpState &>(w).index * std::uint64_t{lanes} +
         lane;
}

std::uint32_t KernelChecker::where_of(const Path &path, const Op *op) const {
  return first_instruction_[path.frame->function->index] + op->source;
}

KernelChecker::Place KernelChecker::place_of(Warp &warp, const Op *op, unsigned lane) const {
  const WarpState &w = state(warp);
  return {thread_of(w, lane), where_of(w.paths[w.current], op)};
}

const InstructionSource &KernelChecker::source_at(std::uint32_t where) const {
  const auto next = std::ranges::upper_bound(first_instruction_, where);
  const auto function = static_cast<std::size_t>(next - first_instruction_.begin() - 1);
  return launch_.code->functions[function].sources[where - first_instruction_[function]];
}

InstructionTraits KernelChecker::traits_at(std::uint32_t where) const { return source_at(where).traits; }

std::uint64_t KernelChecker::line_of(std::uint32_t where) const {
  const InstructionSource &source = source_at(where);
  return source.source_line == 0 ? where : (std::uint64_t{source.file} + 1) << 32 | source.source_line;
}

ThreadPosition KernelChecker::position_of(const Place &place) const {
  ThreadPosition position;
  position.kernel = launch_.kernel->name;
  position.block = index_in(place.thread / launch_.threads, launch_.shape.grid);
  position.thread = index_in(place.thread % launch_.threads, launch_.shape.block);
  set_source(position, *launch_.code, source_at(place.where));
  return position;
}

KernelChecker::Knowledge &KernelChecker::knowledge_of(Warp &w, unsigned lane) {
  if (w.block != last_block_.first) last_block_ = {w.block, &blocks_[w.block]};
  return last_block_.second->threads[state(w).index * std::size_t{lanes} + lane];
}

void KernelChecker::arrive(Warp &w, std::uint32_t lanes_mask, Knowledge &to) {
  if (lanes_mask == w.live) {
    Knowledge all;
    for (std::uint32_t rest = lanes_mask; rest != 0; rest &= rest - 1)
      all.join(knowledge_of(w, static_cast<unsigned>(__builtin_ctz(rest))));
    return races_.arrive(VectorClock::warp(w.block->index * launch_.warps + state(w).index), all, to);
  }
  for (std::uint32_t rest = lanes_mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    races_.arrive(VectorClock::thread(thread_of(w, lane)), knowledge_of(w, lane), to);
  }
}

// ---- findings

bool KernelChecker::is_known(Check check, std::string_view rule, std::uint32_t first, std::uint32_t second) {
  // A race of two lines is one, whichever came first.
  const auto [low, high] = std::minmax({line_of(first), line_of(second)});
  const Key key = check == Check::races ? Key{"race", low, high} : Key{rule, line_of(first), line_of(second)};
  const auto [known, is_new] = known_.try_emplace(key, findings_.size());
  if (!is_new && known->second < findings_.size()) ++findings_[known->second].count;
  return !is_new || findings_.size() == most_findings;
}

void KernelChecker::add_race(const RaceDetector::Record &earlier, const Place &place, std::uint64_t address,
                             std::uint64_t bytes, MemorySpace space, Access access) {
  const Place other{earlier.thread, earlier.where};
  if (is_known(Check::races, {}, other.where, place.where)) return;
  const bool is_atomic = earlier.is_strong && traits_at(earlier.where).is_atomic;
  const Access first = !earlier.is_write ? Access::read : is_atomic ? Access::atomic : Access::write;
  const bool are_writes = earlier.is_write && access != Access::read;
  findings_.push_back({.check = Check::races,
                       .rule = are_writes         ? "write-write"
                               : earlier.is_write ? "write-read"
                                                  : "read-write",
                       .what = "two threads access " + bytes_at(bytes, space, address) +
                               (are_writes ? ", both write" : ", one of them writes") +
                               ", and no barrier, atomic operation or fence orders them",
                       .acts = {{role_of(first), position_of(other)}, {role_of(access), position_of(place)}},
                       .space = space,
                       .access = access,
                       .address = address,
                       .bytes = bytes});
}

void KernelChecker::check_second_writes() {
  for (const SecondWrite &one : second_writes_)
    if (std::memcmp(one.host, one.before, one.bytes) != 0)
      add_race(one.earlier, one.place, one.address, one.bytes, one.space, Access::write);
  second_writes_.clear();
}

void KernelChecker::faults(Warp &w, const Op *op, unsigned lane, FaultKind kind, std::uint64_t address) {
  const bool is_misaligned = kind == FaultKind::misaligned_address;
  if (!checks_[Check::memory] || (!is_misaligned && kind != FaultKind::illegal_address)) return;
  const Place place = place_of(w, op, lane);
  const std::string_view rule = is_misaligned ? "misaligned" : "out-of-bounds";
  if (is_known(Check::memory, rule, place.where, 0)) return;
  MemorySpace space = traits_at(place.where).space;
  // An instruction without a space, or with two. No allocation is at the addresses of the shared state space.
  if (space == MemorySpace::none)
    space = address >= local_window                                          ? MemorySpace::local
            : address >= shared_window || address < 17 * cluster_block_bytes ? MemorySpace::shared
                                                                             : MemorySpace::global;
  const std::string end = is_misaligned ? " not a multiple of the size of the access"
                          : space == MemorySpace::shared
                              ? " outside of the block's " +
                                    std::to_string(launch_.shared_limit - reserved_shared_bytes) + " bytes"
                          : space == MemorySpace::local
                              ? " outside of the thread's " + std::to_string(launch_.local_bytes) + " bytes"
                              : " outside of the memory that the kernel may access";
  const bool has_size = last_.bytes != 0 && last_.address == address && !is_misaligned;
  findings_.push_back({.check = Check::memory,
                       .rule = rule,
                       .what = (has_size ? bytes_at(last_.bytes, space, address) + " are"
                                         : address_in(space, address) + " is") +
                               end,
                       .acts = {{has_size ? role_of(last_.access) : "accessed by", position_of(place)}},
                       .space = space,
                       .access = has_size ? last_.access : Access::read,
                       .address = address,
                       .bytes = has_size ? last_.bytes : 0});
}

void KernelChecker::finish() {
  check_second_writes();
  for (const KernelFinding &one : findings_) checks_.report(one);
}

// ---- memory

void KernelChecker::accesses(Warp &w, const Op *op, unsigned lane, std::uint64_t address, std::byte *host,
                             std::uint64_t bytes, Access access, MemorySpace space) {
  last_ = {address, bytes, access};
  if (host == nullptr || !needs_all_accesses()) return;
  check_second_writes();
  const Place place = place_of(w, op, lane);
  const InstructionTraits traits = traits_at(place.where);
  if (checks_[Check::init]) check_initialized(place, traits, address, host, bytes, access, space);
  if (!checks_[Check::races]) return;
  const bool is_write = access != Access::read, is_strong = traits.is_strong || access == Access::atomic;
  Knowledge &knowledge = knowledge_of(w, lane);
  // A strong access synchronizes: it reads before it writes.
  if (is_strong && access != Access::write) races_.acquire(knowledge, number(host));
  if (is_strong && is_write) races_.release(place.thread, knowledge, number(host), !traits.releases);
  const RaceDetector::Record earlier = races_.note(
      {place.thread, is_write, is_strong, traits.warps, place.where}, knowledge, number(host), bytes);
  if (earlier.bytes == 0) return;
  if (earlier.is_write && access == Access::write && bytes <= sizeof SecondWrite::before) {
    SecondWrite &second =
        second_writes_.emplace_back(SecondWrite{earlier, place, address, space, host, bytes, {}});
    std::memcpy(second.before, host, bytes);
    return;
  }
  add_race(earlier, place, address, bytes, space, access);
}

void KernelChecker::check_initialized(const Place &place, const InstructionTraits &traits,
                                      std::uint64_t address, const std::byte *host, std::uint64_t bytes,
                                      Access access, MemorySpace space) {
  const bool is_global = space == MemorySpace::global;
  bool is_unwritten = false;
  if (access == Access::read || (access == Access::atomic && !traits.ignores_value)) {
    if (is_global)
      is_unwritten = launch_.memory->is_unwritten(address, bytes);
    else
      for (std::uint64_t i = 0; i < bytes && !is_unwritten; ++i)
        is_unwritten = unwritten_shared_.at(number(host) + i)[(number(host) + i) % 64];
  }
  constexpr std::string_view rule = "uninitialized-read";
  if (is_unwritten && !is_known(Check::init, rule, place.where, 0))
    findings_.push_back(
        {.check = Check::init,
         .rule = rule,
         .what = bytes_at(bytes, space, address) + " are read, and were not all written before",
         .acts = {{role_of(access), position_of(place)}},
         .space = space,
         .access = access,
         .address = address,
         .bytes = bytes});
  if (access == Access::read) return;
  if (is_global)
    launch_.memory->note_written(address, bytes);
  else
    for (std::uint64_t i = 0; i < bytes; ++i)
      unwritten_shared_.at(number(host) + i).reset((number(host) + i) % 64);
}

void KernelChecker::allocated(std::byte *host, std::uint64_t bytes) {
  if (checks_[Check::races] && host != nullptr) races_.reset(number(host), bytes);
}

}  // namespace cushim::ptx::execute
