// SPDX-License-Identifier: Apache-2.0
#include "given_addresses.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "bits.hpp"
#include "buffers.hpp"
#include "pointees.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

std::string_view base_of(int slot) { return cushim_entry(slot)->base; }

// Adds the words of the arrays and structures to which the arguments of a batch of copies lead: addresses are
// among them.
void add_words_of_batch(int slot, std::span<const std::uint64_t> words,
                        std::vector<std::uint64_t> &addresses) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 16;
  if (base_of(slot).find("Batch") == std::string_view::npos) return;
  std::vector<char> bytes;
  for (const Buffer &buffer : buffers_of(slot)) {
    const std::uint64_t address = argument_of(slot, words, buffer.argument);
    if (address == 0 || !buffer.is_read() || buffer.content != Buffer::Content::objects) continue;
    bytes.resize(std::min<std::uint64_t>(kMostBytes, size_of(buffer, slot, words, trace::copy_if_there)));
    bytes.resize(trace::copy_if_there(bytes.data(), address, bytes.size()));
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t))
      addresses.push_back(bits_at(bytes.data() + at, sizeof(std::uint64_t)));
  }
}

}  // namespace

std::vector<CUstreamBatchMemOpParams> operations_of(int slot, std::span<const std::uint64_t> words) {
  std::vector<CUstreamBatchMemOpParams> operations;
  if (base_of(slot) != "cuStreamBatchMemOp") return operations;
  operations.resize(std::min<std::uint64_t>(words[1] & 0xffffffff, 256));
  const std::size_t size = operations.size() * sizeof operations[0];
  if (!trace::copy_all_if_there(operations.data(), words[2], size)) operations.clear();
  return operations;
}

GivenAddresses addresses_given_by(int slot, std::span<const std::uint64_t> words, KernelParameters &kernels) {
  if (base_of(slot).starts_with("cuGraphLaunch")) return {.all = true};
  GivenAddresses given;
  const auto &parameters = trace::row_of(slot).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // Copies from and to the host have their data in the recording.
    const Buffer *const buffer = buffer_of(slot, i);
    if (buffer == nullptr || !buffer->is_data) given.addresses.push_back(words[parameters[i].word]);
  }
  for (const CUstreamBatchMemOpParams &operation : operations_of(slot, words))
    given.addresses.push_back(operation.waitValue.address);
  add_words_of_batch(slot, words, given.addresses);
  for (const Buffer &buffer : buffers_of(slot)) {
    const std::uint64_t address = argument_of(slot, words, buffer.argument);
    if (address == 0) continue;
    if (buffer.content == Buffer::Content::launch_options) return {.all = true};
    if (buffer.content != Buffer::Content::kernel_parameters) continue;
    const auto sizes =
        kernels.known_sizes(reinterpret_cast<CUfunction>(argument_of(slot, words, kernel_argument_of(slot))));
    if (sizes == nullptr) return {.all = true};
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      const auto from = reinterpret_cast<const char *>(
          bits_at(reinterpret_cast<const char *>(address) + i * sizeof(void *), sizeof(void *)));
      for (std::size_t at = 0; at + sizeof(std::uint64_t) <= (*sizes)[i]; at += sizeof(std::uint64_t))
        given.addresses.push_back(bits_at(from + at, sizeof(std::uint64_t)));
    }
  }
  return given;
}

std::vector<std::uint64_t> addresses_copied_from(int slot, std::span<const std::uint64_t> words) {
  std::vector<std::uint64_t> sources;
  for (const Buffer &buffer : buffers_of(slot)) {
    const std::uint64_t address = argument_of(slot, words, buffer.argument);
    if (buffer.is_data && buffer.is_async && buffer.is_read()) sources.push_back(address);
    if (!buffer.has_pointees || buffer.has_count || address == 0) continue;
    std::string structure(buffer.element, '\0');
    if (!trace::copy_all_if_there(structure.data(), address, structure.size())) continue;
    for (const Pointee &pointee : pointees_of(*buffer.type, structure.data()))
      if (pointee.content == Pointee::Content::rows_read) sources.push_back(pointee.address);
  }
  return sources;
}

}  // namespace cushim::replay
