// SPDX-License-Identifier: Apache-2.0
// Writes a shrunk recording as a GoogleTest test.
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "call_text.hpp"
#include "cpp_text.hpp"
#include "test_writer.hpp"

namespace cushim::replay {
namespace {

constexpr const char *kHelpers = R"(
// Sets bytes of an object.
template <class Object, class Value>
[[maybe_unused]] void put(Object &object, std::size_t offset, Value value) {
  std::memcpy(reinterpret_cast<char *>(&object) + offset, &value, sizeof value);
}

// Returns bytes of an object.
template <class Value, class Object>
[[maybe_unused]] Value got(const Object &object, std::size_t offset) {
  Value value;
  std::memcpy(&value, reinterpret_cast<const char *>(&object) + offset, sizeof value);
  return value;
}
)";

constexpr const char *kThread = R"(
// A thread that makes calls; run() returns when the call has returned.
class Thread {
 public:
  ~Thread() {
    run({});
    thread_.join();
  }
  void run(std::function<void()> call) {
    std::unique_lock lock(mutex_);
    call_ = std::move(call);
    is_called_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_called_; });
  }

 private:
  void loop() {
    for (bool goes_on = true; goes_on;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_called_; });
      goes_on = static_cast<bool>(call_);
      if (goes_on) call_();
      is_called_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> call_;
  bool is_called_ = false;
  std::thread thread_{[this] { loop(); }};
};
)";

std::string indented(const std::string &lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    text += "  " + lines.substr(at, end - at + 1);
    at = end + 1;
  }
  return text;
}

std::string result_literal(CUresult result) {
  const std::string name = trace::result_name(result);
  const bool is_number = std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name[0] == '-';
  return is_number ? "static_cast<CUresult>(" + name + ")" : name;
}

// Text of another machine, in a comment of one line.
std::string comment_text(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += static_cast<unsigned char>(c) < ' ' || c == '\\' ? ' ' : c;
  return safe;
}

}  // namespace

void write_test(const Recording &recording, const Shrunk &shrunk, std::ostream &to) {
  const auto &calls = recording.calls();
  const std::size_t last = shrunk.calls.back();
  std::map<unsigned, unsigned> threads;  // recorded number, number in the test
  if (!shrunk.is_on_one_thread)
    for (const std::size_t call : shrunk.calls) threads.emplace(calls[call].thread, 0);
  const bool has_threads = threads.size() > 1;

  std::string body;
  unsigned count = 0;
  for (auto &[recorded, number] : threads) {
    number = ++count;
    if (has_threads) body += "Thread thread" + std::to_string(number) + ";\n";
  }
  Variables variables;
  std::size_t data = 0;
  for (const std::size_t index : shrunk.calls) {
    const RecordedCall &call = calls[index];
    const CallWriter writer(call, index, variables);
    data += writer.data_size();
    if (data > kMostTestData)
      throw ShrinkError("the test would need more than 4 MiB of data, up to call " + std::to_string(index) +
                        " (" + cushim_entry(call.slot)->symbol + ")");
    body += writer.declarations() + writer.host_memory(call.before, false);
    const bool is_last = index == last;
    if (is_last && shrunk.difference)
      body += "// The driver that was recorded: " + comment_text(shrunk.difference->recorded) +
              ". The simulated driver: " + comment_text(shrunk.difference->replayed) + ".\n";
    const std::string expectation =
        "EXPECT_EQ(" + writer.call() + ", " + result_literal(call.result) + ");\n";
    if (has_threads)
      body += "thread" + std::to_string(threads[call.thread]) + ".run([&] { " +
              expectation.substr(0, expectation.size() - 1) + " });\n";
    else
      body += expectation;
    if (is_last && shrunk.difference && shrunk.difference->what != "result") {
      const std::string check = writer.check(shrunk.difference->what) + writer.host_memory(call.after, true);
      body += check.empty() ? "// This test does not check " + comment_text(shrunk.difference->what) + ".\n"
                            : check;
    }
  }

  to << "// Shrunk by `cushim replay --shrink` to " << shrunk.calls.size() << " of " << calls.size()
     << " calls. Links cushim::sim and GTest::gtest_main.\n"
     << "#include <gtest/gtest.h>\n#include <cushim/sim/machine.hpp>\n\n";
  const std::set<std::string> headers =
      has_threads ? std::set<std::string>{"condition_variable", "cstddef", "cstdint", "cstring",
                                          "functional",         "mutex",   "string",  "thread",
                                          "type_traits",        "utility"}
                  : std::set<std::string>{"cstddef", "cstdint", "cstring", "string", "type_traits"};
  for (const std::string &header : headers) to << "#include <" << header << ">\n";
  to << "\nnamespace {\n"
     << kHelpers << (has_threads ? kThread : "") << "\nTEST(Shrunk, "
     << cushim_entry(calls[last].slot)->symbol << "_of_call_" << last << ") {\n"
     << "  const cushim::sim::Machine machine(cushim::sim::options_from_environment({}));\n"
     << "  cushim::Driver &driver = machine.driver();\n"
     << indented(body) << "}\n\n}  // namespace\n";
}

}  // namespace cushim::replay
