// SPDX-License-Identifier: Apache-2.0
// Compares the simulated driver with the answers that an H200 gave about semaphores of its Vulkan driver
// (recorded/external_semaphores.txt). The test's own semaphores take the place of Vulkan's.
#include <cushim/sim/external_semaphore.hpp>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include "graph_calls.hpp"

namespace cushim::sim {
namespace {

using Type = ExternalSemaphore::Type;
using Signal = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
using Wait = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
using Lines = std::vector<std::string>;

// Returns the lines of each case, without its name: "query = 600".
std::map<std::string, Lines> read_answers() {
  std::map<std::string, Lines> answers;
  std::ifstream file(EXTERNAL_SEMAPHORE_ANSWERS);
  for (std::string line; std::getline(file, line);)
    if (const std::size_t end = line.find(": "); end != line.npos && line[0] != '#')
      answers[line.substr(0, end)].push_back(line.substr(end + 2));
  return answers;
}

class ExternalSemaphoreAnswers : public testing::Test {
 protected:
  void say(const std::string &what, long long value) {
    lines_.push_back(what + " = " + std::to_string(value));
  }
  void expect(const std::string &name) {
    static const auto answers = read_answers();
    const auto found = answers.find(name);
    ASSERT_NE(found, answers.end());
    EXPECT_EQ(lines_, found->second);
  }

  CUresult import(CUexternalSemaphore *out, const ExternalSemaphore &semaphore, int type, unsigned flags = 0,
                  unsigned reserved = 0) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = static_cast<CUexternalSemaphoreHandleType>(type);
    description.handle.fd = semaphore.new_descriptor();
    description.flags = flags;
    description.reserved[0] = reserved;
    return driver().cuImportExternalSemaphore(out, &description);
  }
  CUexternalSemaphore imported(const ExternalSemaphore &semaphore) {
    CUexternalSemaphore made = nullptr;
    say("import", import(&made, semaphore, semaphore.type() == Type::binary ? 1 : 9));
    return made;
  }
  template <class Parameters>
  static Parameters with(std::uint64_t value, unsigned flags = 0) {
    Parameters parameters{};
    parameters.params.fence.value = value;
    parameters.flags = flags;
    return parameters;
  }
  CUresult signal(CUexternalSemaphore semaphore, std::uint64_t value, unsigned flags = 0) {
    const auto parameters = with<Signal>(value, flags);
    return driver().cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
  }
  CUresult wait(CUexternalSemaphore semaphore, std::uint64_t value, unsigned flags = 0) {
    const auto parameters = with<Wait>(value, flags);
    return driver().cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, stream);
  }
  CUresult query() { return driver().cuStreamQuery(stream); }

  Running running{{.report = [](const std::string &) {}}};
  CUstream stream = running.stream();
  const ExternalSemaphore timeline{Type::timeline}, binary{Type::binary};

 private:
  Lines lines_;
};

TEST_F(ExternalSemaphoreAnswers, Of_each_type_of_handle) {
  for (int type = 0; type < 12; ++type) {
    CUexternalSemaphore made = nullptr;
    const CUresult code = import(&made, timeline, type);
    say("type " + std::to_string(type), code);
    say("fd open", code != CUDA_SUCCESS);
  }
  expect("types of a timeline");
}

TEST_F(ExternalSemaphoreAnswers, Of_flags_and_reserved_words) {
  CUexternalSemaphore made = nullptr;
  say("flags 1", import(&made, timeline, 9, 1));
  say("reserved", import(&made, timeline, 9, 0, 1));
  need(driver().cuCtxSetCurrent(nullptr));
  say("no context", import(&made, timeline, 9));
  expect("import with flags");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_timeline_that_is_waited_for) {
  const CUexternalSemaphore semaphore = imported(timeline);
  say("wait 3", wait(semaphore, 3));
  say("query", query());
  timeline.signal(2);
  say("query at 2", query());
  timeline.signal(4);
  say("query at 4", query());
  say("signal 5", signal(semaphore, 5));
  say("query", query());
  say("value", static_cast<long long>(timeline.value()));
  expect("timeline order");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_timeline_that_is_signaled_with_lower_values) {
  const ExternalSemaphore nine(Type::timeline, 9);
  const CUexternalSemaphore semaphore = imported(nine);
  for (const std::uint64_t value : {9, 4}) {
    say("signal " + std::to_string(value), signal(semaphore, value));
    say("query", query());
    say("value", static_cast<long long>(nine.value()));
  }
  say("wait 8", wait(semaphore, 8));
  say("query", query());
  expect("timeline lower signal");
}

TEST_F(ExternalSemaphoreAnswers, Of_flags_and_reserved_words_of_parameters) {
  const CUexternalSemaphore semaphore = imported(timeline);
  auto one = with<Signal>(1), two = with<Signal>(2);
  one.reserved[0] = two.params.reserved[0] = 1;
  say("signal", driver().cuSignalExternalSemaphoresAsync(&semaphore, &one, 1, stream));
  say("signal params", driver().cuSignalExternalSemaphoresAsync(&semaphore, &two, 1, stream));
  auto zero = with<Wait>(0);
  zero.reserved[0] = 1;
  say("wait", driver().cuWaitExternalSemaphoresAsync(&semaphore, &zero, 1, stream));
  expect("reserved of parameters");
}

TEST_F(ExternalSemaphoreAnswers, Of_flags_of_parameters) {
  const CUexternalSemaphore semaphore = imported(timeline);
  for (const unsigned flags : {1u, 2u, 4u}) {
    say("signal flags " + std::to_string(flags), signal(semaphore, 10 * flags, flags));
    say("wait flags " + std::to_string(flags), wait(semaphore, 0, flags));
  }
  say("query", query());
  expect("timeline flags");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_binary_semaphore_that_is_signaled_twice) {
  const CUexternalSemaphore semaphore = imported(binary);
  say("signal", signal(semaphore, 0));
  say("signal", signal(semaphore, 0));
  say("query", query());
  for (int i = 0; i < 2; ++i) {
    say("wait", wait(semaphore, 0));
    say("query", query());
  }
  expect("binary twice");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_binary_semaphore_that_the_other_interface_takes) {
  const CUexternalSemaphore semaphore = imported(binary);
  say("signal", signal(semaphore, 0));
  EXPECT_EQ(query(), CUDA_SUCCESS);
  say("idle", binary.take() ? 0 : 1);
  say("wait", wait(semaphore, 0));
  say("query", query());
  expect("binary to vulkan");
}

TEST_F(ExternalSemaphoreAnswers, Of_lists) {
  const ExternalSemaphore second(Type::timeline);
  const CUexternalSemaphore first_handle = imported(timeline);
  const CUexternalSemaphore both[] = {first_handle, imported(second)};
  const Signal signals[] = {with<Signal>(3), with<Signal>(4)};
  const Wait waits[] = {with<Wait>(3), with<Wait>(5)};
  say("count 0", driver().cuSignalExternalSemaphoresAsync(both, signals, 0, stream));
  say("null params", driver().cuSignalExternalSemaphoresAsync(both, nullptr, 2, stream));
  say("signal 2", driver().cuSignalExternalSemaphoresAsync(both, signals, 2, stream));
  say("query", query());
  say("values", static_cast<long long>(timeline.value()) * 10 + static_cast<long long>(second.value()));
  say("wait 2", driver().cuWaitExternalSemaphoresAsync(both, waits, 2, stream));
  say("query", query());
  second.signal(5);
  say("query", query());
  expect("lists");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_list_with_a_null_semaphore) {
  const CUexternalSemaphore both[] = {imported(timeline), nullptr};
  const Wait waits[] = {with<Wait>(3), with<Wait>(5)};
  say("wait", driver().cuWaitExternalSemaphoresAsync(both, waits, 2, stream));
  say("query", query());
  expect("bad in list wait");
}

TEST_F(ExternalSemaphoreAnswers, Of_destroyed_semaphores) {
  const CUexternalSemaphore semaphore = imported(timeline);
  say("destroy", driver().cuDestroyExternalSemaphore(semaphore));
  say("wait", wait(semaphore, 1));
  expect("destroyed wait");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_stream_of_another_context) {
  const CUexternalSemaphore semaphore = imported(timeline);
  CUcontext other = nullptr;
  say("ctx", exact::cuCtxCreate_v3020(driver())(&other, 0, 0));
  stream = running.stream();
  say("signal", signal(semaphore, 1));
  say("query", query());
  say("value", static_cast<long long>(timeline.value()));
  expect("other context");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_capture_in_which_a_semaphore_is_imported) {
  const CUexternalSemaphore semaphore = imported(timeline);
  say("begin", driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUexternalSemaphore second = nullptr;
  say("import", import(&second, timeline, 9));
  say("wait", wait(semaphore, 1));
  say("signal", signal(semaphore, 2));
  CUgraph graph = nullptr;
  say("end", driver().cuStreamEndCapture(stream, &graph));
  expect("capture");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_capture_with_a_null_semaphore) {
  say("begin", driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  say("wait", wait(nullptr, 1));
  CUgraph graph = nullptr;
  say("end", driver().cuStreamEndCapture(stream, &graph));
  expect("capture null");
}

TEST_F(ExternalSemaphoreAnswers, Of_a_host_function) {
  CUresult signaled = CUDA_SUCCESS, destroyed = CUDA_SUCCESS;
  std::function<void()> body = [&, semaphore = imported(timeline)] {
    signaled = signal(semaphore, 1);
    destroyed = driver().cuDestroyExternalSemaphore(semaphore);
  };
  say("launch",
      driver().cuLaunchHostFunc(
          stream, [](void *function) { (*static_cast<std::function<void()> *>(function))(); }, &body));
  const CUresult code = driver().cuStreamSynchronize(stream);
  say("signal", signaled);
  say("destroy", destroyed);
  say("query", code);
  expect("in host function");
}

TEST_F(ExternalSemaphoreAnswers, Without_a_context) {
  const CUexternalSemaphore semaphore = imported(timeline);
  need(driver().cuCtxSetCurrent(nullptr));
  say("signal in stream", signal(semaphore, 1));
  const CUstream kept = std::exchange(stream, nullptr);
  say("signal in null", signal(semaphore, 2));
  stream = kept;
  say("destroy", driver().cuDestroyExternalSemaphore(semaphore));
  expect("without a context");
}

}  // namespace
}  // namespace cushim::sim
