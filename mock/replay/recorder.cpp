// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/recorder.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include <cushim/detail/entry_traits.hpp>
#include "argument_recorder.hpp"
#include "host_function_recorder.hpp"
#include "observer.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

using mock::EntryTraits;
using mock::Object;

void copy_text(std::span<char> to, std::string_view text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), to.size() - 1));
}

FileHeader header_of(const cushim::Driver &driver, RecordData data) {
  FileHeader header;
  header.cuda_version = CUDA_VERSION;
  header.entry_count = CUSHIM_ENTRY_COUNT;
  header.process = getpid();
  header.parent = getppid();
  header.data = static_cast<std::uint32_t>(data);
  copy_text(header.driver, driver.name());
  copy_text(header.program, trace::this_program());
  return header;
}

}  // namespace

RecordData record_data(std::string_view name) {
  if (name == "none") return RecordData::none;
  if (name == "hashes") return RecordData::hashes;
  if (name == "full") return RecordData::full;
  throw std::invalid_argument("\"" + std::string(name) + "\" is not none, hashes or full");
}

class Recorder::State final : public trace::CallObserver {
 public:
  State(cushim::Driver &driver, const std::string &file, RecordData data)
      : data_(data), kernels_(driver), contexts_(driver), writer_(file, header_of(driver, data)) {
    trace::watch_for_fork();
    buffers_of(0);  // makes the table now instead of in the first call
    if (data == RecordData::full) functions_.emplace(driver, watched_, sequence_);
    hooks_ = trace::observe(driver, *this);
  }
  ~State() {
    hooks_.clear();
    flush();
  }

  std::uint64_t begin(int slot, std::span<const std::uint64_t> words) override {
    if (trace::is_forked_child.load(std::memory_order_relaxed)) return 0;
    ThreadStream &stream = writer_.stream();
    const std::lock_guard lock(stream.mutex);
    const std::uint64_t sequence = next_sequence();
    const std::int64_t time = now();
    char *to = stream.room((4 + words.size()) * kMostNumberSize);
    to = put_number(to, static_cast<std::uint64_t>(slot));
    to = put_number(to, sequence - stream.sequence);
    to = put_number(to, static_cast<std::uint64_t>(time - stream.time));
    for (const std::uint64_t word : words) to = put_number(to, word);
    stream.commit(to);
    stream.sequence = sequence;
    stream.time = time;
    ArgumentRecorder(stream, slot, words, data_, contexts_).before(*watched_, kernels_, sequence);
    stream.put(0);
    HostFunctionRecorder::set_call(sequence);
    return sequence;
  }

  void end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) override {
    if (begin == 0) return;
    const std::int64_t time = now();
    ThreadStream &stream = writer_.stream();
    const std::lock_guard lock(stream.mutex);
    const std::uint64_t sequence = next_sequence();
    char *to = stream.room(4 * kMostNumberSize);
    to = put_number(to, sequence - begin);
    to = put_number(to, static_cast<std::uint64_t>(time - stream.time));
    to = put_number(to, static_cast<std::uint64_t>(result));
    stream.commit(to);
    stream.sequence = sequence;
    ArgumentRecorder(stream, slot, words, data_, contexts_).after(*watched_, kernels_, begin, result);
    if (functions_) put_runs(stream);
    stream.put(0);
    const EntryTraits &traits = mock::traits_of(slot);
    if (traits.ends_lifetime() && (traits.object == Object::module || traits.object == Object::library))
      kernels_.forget();
    if (traits.ends_lifetime() && traits.object == Object::stream) contexts_.forget(words[0]);
  }

  void flush() {
    if (!trace::is_forked_child) writer_.flush();
  }

 private:
  // Appends the bytes that host functions have written since the last call ended.
  void put_runs(ThreadStream &stream) {
    for (HostFunctionRun &run : functions_->take()) {
      if (run.changes.empty()) run.changes.emplace_back();
      for (const HostVisibleMemory::Change &change : run.changes) {
        stream.put(item_tag(kHostFunction, false));
        for (const std::uint64_t number : {change.bytes.size(), run.call, run.end, change.address})
          stream.put(number);
        stream.put(std::string_view(change.bytes));
      }
    }
  }

  // Relaxed: the count of an event that happened after another one is higher in any case.
  std::uint64_t next_sequence() { return 1 + sequence_->fetch_add(1, std::memory_order_relaxed); }
  std::int64_t now() const { return (std::chrono::steady_clock::now() - start_).count(); }

  const RecordData data_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::shared_ptr<std::atomic<std::uint64_t>> sequence_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  KernelParameters kernels_;
  StreamContexts contexts_;
  const std::shared_ptr<HostVisibleMemory> watched_ = std::make_shared<HostVisibleMemory>();
  Writer writer_;
  std::optional<HostFunctionRecorder> functions_;
  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

Recorder::Recorder(cushim::Driver &driver, const std::string &file, RecordData data)
    : state_(std::make_unique<State>(driver, file, data)) {}
Recorder::~Recorder() = default;
void Recorder::flush() { state_->flush(); }

}  // namespace cushim::replay
