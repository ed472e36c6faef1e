// SPDX-License-Identifier: Apache-2.0
// Checks that the pinned memory that a copy reads stays unchanged until the program knows that the copy is
// done: compares a checksum at submission with one when the host learns that the copy is done.
#include <algorithm>
#include <cstring>

#include "hazards/hazard_model.hpp"

namespace cushim::check {
namespace {

// In sources larger than 2 * kEnd, only the first and the last kEnd bytes are checked.
constexpr std::uint64_t kEnd = 512;

// Returns a position-dependent checksum: sums of 64-bit words, and sums of those sums. Four lanes,
// for speed.
std::uint64_t sum(const unsigned char *at, std::uint64_t size) {
  std::uint64_t words[4]{}, sums[4]{};
  for (; size >= sizeof words; at += sizeof words, size -= sizeof words) {
    std::uint64_t next[4];
    std::memcpy(next, at, sizeof next);
    for (int i = 0; i < 4; ++i) {
      words[i] += next[i];
      sums[i] += words[i];
    }
  }
  std::uint64_t all = size;
  for (; size != 0; ++at, --size) all = all * 31 + *at;
  for (int i = 0; i < 4; ++i) all = (all * 31 + words[i]) * 31 + sums[i];
  return all;
}

std::uint64_t checksum_of(ByteRange bytes) {
  const std::uint64_t size = bytes.end - bytes.begin;
  const auto *const begin = reinterpret_cast<const unsigned char *>(bytes.begin);
  return size <= 2 * kEnd ? sum(begin, size) : 31 * sum(begin, kEnd) + sum(begin + size - kEnd, kEnd);
}

}  // namespace

bool HazardModel::may_wait_for_host(StreamIndex stream_index) const {
  return std::ranges::any_of(
      open_waits_, [&](const OpenWait &wait) { return order_.is_before(wait.epoch, stream_index); });
}

// Tracks the source, unless its bytes may legitimately change before the copy runs: by work ahead of it, or
// by the host while the stream waits for the host.
void HazardModel::keep_source(const Access &access, const Extent &extent, const Memory &memory) {
  if (!extent.is_flat() || extent.end() > memory.end || may_wait_for_host(access.epoch.stream_index)) return;
  if (!order_.host().covers(memory.changed_by) || !order_.host().covers(unknown_)) return;
  const ByteRange bytes{extent.begin, extent.end()};
  sources_[access.epoch.stream_index].push_back({access, bytes, checksum_of(bytes), ++ticks_});
}

void HazardModel::drop_sources(std::uint64_t begin, std::uint64_t end) {
  for (auto &[stream_index, sources] : sources_)
    std::erase_if(sources,
                  [&](const Source &source) { return source.bytes.begin < end && begin < source.bytes.end; });
}

void HazardModel::check_sources() {
  for (auto stream_sources = sources_.begin(); stream_sources != sources_.end();) {
    std::deque<Source> &sources = stream_sources->second;
    while (!sources.empty() && order_.is_done(sources.front().access.epoch)) {
      check_source(sources.front());
      sources.pop_front();
    }
    stream_sources = sources.empty() ? sources_.erase(stream_sources) : std::next(stream_sources);
  }
}

void HazardModel::check_sources_now(const std::function<bool(const Source &)> &is_it) {
  for (auto stream_sources = sources_.begin(); stream_sources != sources_.end();) {
    std::erase_if(stream_sources->second, [&](const Source &source) {
      if (!is_it(source)) return false;
      check_source(source);
      return true;
    });
    stream_sources =
        stream_sources->second.empty() ? sources_.erase(stream_sources) : std::next(stream_sources);
  }
}

void HazardModel::check_source(const Source &source) {
  const Memory *const memory = memory_at(source.bytes.begin);
  if (memory == nullptr || memory->changed_at > source.at) return;
  if (checksum_of(source.bytes) == source.sum) return;
  const std::string &stream = names_.text(source.access.stream);
  const std::string call = cushim_entry(static_cast<int>(source.access.entry))->symbol;
  report_({.checker = "hazards",
           .rule = "pinned-source-changed",
           .what = "the program changed the source of a copy before " + stream + " read it: " +
                   bytes_text(source.bytes) + " differ from their value at the call of " + call,
           .calls = {{"read by", call + " in " + stream, source.access.call_stack}},
           .advice = "change the source only after the copy: record an event on " + stream + " after " +
                     call + " and call cuEventSynchronize, or use another buffer"});
}

}  // namespace cushim::check
