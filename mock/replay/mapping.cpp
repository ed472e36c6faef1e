// SPDX-License-Identifier: Apache-2.0
#include "mapping.hpp"

#include "bits.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace cushim::replay {
namespace {

using trace::Field;
using trace::Type;
using Kind = Type::Kind;

// Takes the place of host functions, because the recorded program does not run.
void do_nothing(void *) {}
void CUDA_CB do_nothing_in_stream(CUstream, CUresult, void *) {}

// An opaque object that differs in more bytes from each known one was not returned by a call.
constexpr std::size_t kMostChanged = 8;

// Smaller handles without a type (textures, surfaces) are not looked for in bytes of unknown type.
constexpr std::uint64_t kLeastFoundHandle = 4096;

}  // namespace

bool is_special(std::string_view kind, std::uint64_t handle) {
  return handle == 0 || (handle <= 2 && kind == mock::noun_of<CUstream>);
}

bool is_number_name(std::string_view name) {
  for (const char *part : {"lags", "ize", "ytes", "ount", "ffset", "Id", "id_out", "value", "maximum"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

void Mapping::add_memory(std::uint64_t recorded, const Memory &memory) {
  auto next = memory_.lower_bound(recorded);
  if (next != memory_.begin() && std::prev(next)->first + std::prev(next)->second.size > recorded) --next;
  if (next != memory_.end() && next->second.is_reservation && !memory.is_reservation &&
      !memory.is_host_accessible && next->first <= recorded &&
      recorded + memory.size <= next->first + next->second.size &&
      next->second.replayed + (recorded - next->first) == memory.replayed)
    return;  // the addresses of the reservation remain valid when the memory is unmapped
  while (next != memory_.end() && next->first < recorded + memory.size) next = memory_.erase(next);
  memory_.insert_or_assign(recorded, memory);
}

const Mapping::Memory *Mapping::memory_at(std::uint64_t recorded) const {
  const auto next = memory_.upper_bound(recorded);
  if (next == memory_.begin()) return nullptr;
  const auto &[base, memory] = *std::prev(next);
  return recorded - base < memory.size ? &memory : nullptr;
}

const Mapping::Memory *Mapping::live_memory_at(std::uint64_t recorded) const {
  const Memory *const memory = memory_at(recorded);
  return memory != nullptr && !memory->is_ended ? memory : nullptr;
}

void Mapping::end_memory(std::uint64_t recorded, bool is_reservation) {
  const auto found = memory_.find(recorded);
  if (found != memory_.end() && found->second.is_reservation == is_reservation) found->second.is_ended = true;
}

std::optional<std::uint64_t> Mapping::address(std::uint64_t recorded) const {
  const auto next = memory_.upper_bound(recorded);
  if (next == memory_.begin()) return std::nullopt;
  const auto &[base, memory] = *std::prev(next);
  // The address of the end is often passed as a bound.
  if (recorded - base > memory.size) return std::nullopt;
  return memory.replayed + (recorded - base);
}

std::uint64_t Mapping::room_at(std::uint64_t recorded) const {
  if (memory_at(recorded) == nullptr) return 0;
  const auto &[base, memory] = *std::prev(memory_.upper_bound(recorded));
  return memory.size - (recorded - base);
}

char *Mapping::host_memory(std::uint64_t recorded, std::uint64_t size) const {
  const Memory *const memory = live_memory_at(recorded);
  if (memory == nullptr || !memory->is_host_accessible || room_at(recorded) < size) return nullptr;
  return reinterpret_cast<char *>(*address(recorded));
}

void Mapping::add_handle(std::string_view kind, std::uint64_t recorded, std::uint64_t replayed) {
  if (is_special(kind, recorded)) return;
  if (!ended_parts_.empty()) ended_parts_.erase({std::string(kind), recorded});
  std::vector<Known> &all = handles_[recorded];
  const auto known = std::ranges::find(all, kind, &Known::kind);
  const Known added{kind, replayed, ended_graphs_};
  if (known != all.end())
    *known = added;
  else
    all.push_back(added);
}

const Mapping::Known *Mapping::find(std::string_view kind, std::uint64_t recorded) const {
  const auto found = handles_.find(recorded);
  if (found == handles_.end()) return nullptr;
  const auto known = std::ranges::find(found->second, kind, &Known::kind);
  return known != found->second.end() ? &*known : nullptr;
}

std::optional<std::uint64_t> Mapping::handle_of_kind(std::string_view kind, std::uint64_t recorded) const {
  const Known *const known = find(kind, recorded);
  return known != nullptr ? std::optional(known->replayed) : std::nullopt;
}

std::optional<std::uint64_t> Mapping::handle(std::string_view kind, std::uint64_t recorded) const {
  const auto found = handle_of_kind(kind, recorded);
  return found || kind != "function" ? found : handle_of_kind("kernel", recorded);
}

void Mapping::add_part(std::string_view kind, std::uint64_t recorded, std::string_view whole,
                       std::uint64_t of) {
  parts_[{std::string(whole), of}].emplace(kind, recorded);
}

void Mapping::end_parts(std::string_view whole, std::uint64_t of) {
  const auto parts = parts_.extract({std::string(whole), of});
  if (parts.empty()) return;
  for (const Handle &part : parts.mapped()) {
    ended_parts_.insert(part);
    end_parts(part.first, part.second);
  }
}

void Mapping::end_all_parts() {
  while (!parts_.empty()) {
    const Handle whole = parts_.begin()->first;
    end_parts(whole.first, whole.second);
  }
}

bool Mapping::is_ended_part(std::string_view kind, std::uint64_t recorded) const {
  if (kind == "graph" || kind == "graph node") {
    const Known *const known = find(kind, recorded);
    return known != nullptr && known->ended_graphs != ended_graphs_;
  }
  return !ended_parts_.empty() && ended_parts_.contains({std::string(kind), recorded});
}

std::optional<std::uint64_t> Mapping::any(std::uint64_t recorded) const {
  if (memory_at(recorded) != nullptr) return address(recorded);
  return handle("", recorded);
}

void Mapping::replace_parameter(std::span<char> bytes) const {
  if (bytes.size() == sizeof(std::uint64_t)) {
    const std::uint64_t word = bits_at(bytes.data(), sizeof word);
    if (const auto replayed = textures_.contains(word) ? handle("", word) : std::nullopt) {
      std::memcpy(bytes.data(), &*replayed, sizeof *replayed);
      return;
    }
  }
  replace_words(bytes);
}

void Mapping::replace_words(std::span<char> bytes) const {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t))
    if (const std::uint64_t word = bits_at(&bytes[at], sizeof word); word < kLeastFoundHandle)
      continue;
    else if (const auto replayed = any(word))
      std::memcpy(&bytes[at], &*replayed, sizeof *replayed);
}

std::optional<std::uint64_t> Mapping::stand_in(std::uint64_t recorded) const {
  const auto next = forbidden_.upper_bound(recorded);
  if (next != forbidden_.begin() && recorded - std::prev(next)->first <= std::prev(next)->second)
    return std::nullopt;
  return stand_ins_.of(recorded);
}

void Mapping::add_opaque(std::string_view recorded, std::string_view replayed) {
  opaque_.insert_or_assign(std::string(recorded), std::string(replayed));
}

bool Mapping::replace_opaque(std::span<char> object) const {
  const std::string_view given(object.data(), object.size());
  if (const auto known = opaque_.find(given); known != opaque_.end()) {
    std::ranges::copy(known->second, object.begin());
    return true;
  }
  const std::pair<const std::string, std::string> *nearest = nullptr;
  std::size_t fewest = kMostChanged + 1;
  for (const auto &known : opaque_) {
    if (known.first.size() != given.size()) continue;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < given.size(); ++i) changed += known.first[i] != given[i] ? 1 : 0;
    if (changed >= fewest) continue;
    fewest = changed;
    nearest = &known;
  }
  if (nearest == nullptr) return false;
  for (std::size_t i = 0; i < object.size(); ++i)
    if (object[i] == nearest->first[i]) object[i] = nearest->second[i];
  return true;
}

std::optional<std::string> Mapping::replace(const Type &type, void *value, std::string_view name,
                                            bool accesses_memory) const {
  const std::uint64_t bits = bits_at(value, type.size);
  std::optional<std::uint64_t> replayed;
  switch (type.kind) {
    case Kind::handle:
      if (is_special(type.name, bits)) return std::nullopt;
      replayed = handle(type.name, bits);
      if (!replayed) return std::string("its ") + type.name + " is unknown";
      break;
    case Kind::address:
      if (is_number_name(name)) return std::nullopt;
      if (std::uint64_t word = bits; auto reason = replace_address(word, name, accesses_memory))
        return reason;
      else
        replayed = word;
      break;
    case Kind::pointer:
    case Kind::text:
    case Kind::text_out:
      if (bits == 0) return std::nullopt;
      if (name == "userData" || name == "ptr")
        replayed = 0;
      else if (name == "fn" || name == "destroy")
        replayed = reinterpret_cast<std::uint64_t>(&do_nothing);
      else if (name == "callback" && type.pointee == nullptr && handle("", bits) == std::nullopt)
        replayed = reinterpret_cast<std::uint64_t>(&do_nothing_in_stream);
      else
        replayed = any(bits);
      // Pointers for Windows are not read.
      if (!replayed && (!accesses_memory || name.starts_with("win32"))) replayed = stand_in(bits);
      if (!replayed) return "what " + std::string(name) + " leads to was not recorded";
      break;
    case Kind::structure:
      return replace_structure(type, static_cast<char *>(value), accesses_memory);
    case Kind::batch_op:
      replace_words({static_cast<char *>(value), type.size});
      return std::nullopt;
    default:
      return std::nullopt;
  }
  std::memcpy(value, &*replayed, std::min(type.size, sizeof *replayed));
  return std::nullopt;
}

std::optional<std::string> Mapping::replace_address(std::uint64_t &word, std::string_view name,
                                                    bool accesses_memory) const {
  if (word == 0) return std::nullopt;
  std::optional<std::uint64_t> replayed = any(word);
  if (!replayed) replayed = address(word);
  if (!replayed && !accesses_memory) replayed = stand_in(word);
  if (!replayed) return "the memory of " + std::string(name) + " is unknown";
  word = *replayed;
  return std::nullopt;
}

std::optional<std::string> Mapping::replace_structure(const Type &type, char *value,
                                                      bool accesses_memory) const {
  // Unions are not described; of arrays only the first element is.
  std::vector<bool> is_described(type.size);
  for (const Field &field : *type.fields) {
    std::fill_n(is_described.begin() + static_cast<std::ptrdiff_t>(field.offset), field.type->size, true);
    if (auto reason = replace(*field.type, value + field.offset, field.name, accesses_memory)) return reason;
  }
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= type.size; at += sizeof(std::uint64_t))
    if (!is_described[at]) replace_words({value + at, sizeof(std::uint64_t)});
  return std::nullopt;
}

}  // namespace cushim::replay
