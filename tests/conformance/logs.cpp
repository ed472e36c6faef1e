// SPDX-License-Identifier: Apache-2.0
// The error log of the driver: callbacks, and messages read from the buffer. Texts are the driver's own, and
// are only recorded.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "conformance.hpp"

#if CUDA_VERSION >= 12090

namespace conformance {
namespace {

class Logs : public OnDevice {
 public:
  static void CUDA_CB keep(void *data, CUlogLevel level, char *message, std::size_t length) {
    auto &logs = *static_cast<Logs *>(data);
    ++logs.calls;
    logs.level = level;
    logs.message = message;
    logs.length = length;
  }
  // A call that fails.
  void fail() { driver().cuEventCreate(nullptr, 0); }
  // Reads the messages after `since` into `text`.
  CUresult read() {
    size = text.size();
    return driver().cuLogsDumpToMemory(&since, text.data(), &size, 0);
  }

  // Returns the first line of messages without its time and its thread.
  static std::string without_time(const std::string &lines) {
    const auto begin = lines.find("[CUDA]");
    return begin != lines.npos ? lines.substr(begin, lines.find('\n') - begin) : "nothing";
  }

  int calls = 0;
  CUlogLevel level = CU_LOG_LEVEL_WARNING;
  std::string message;
  std::size_t length = 0;
  CUlogsCallbackHandle handle = nullptr;
  CUlogIterator since = 0;
  std::string text = std::string(25600, 'x');
};

STATEMENT(Logs, Call_a_function, driver().cuLogsRegisterCallback(nullptr, nullptr, &handle),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(Logs, Need_no_place_for_the_handle) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuLogsRegisterCallback(keep, this, nullptr), CUDA_SUCCESS);
}
TEST_F(Logs, Tell_a_function_of_an_error) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuLogsRegisterCallback(keep, this, &handle), CUDA_SUCCESS);
  EXPECT_VALUE(handle != nullptr, true);
  fail();
  EXPECT_VALUE(calls, 1);
  EXPECT_VALUE(static_cast<int>(level), int{CU_LOG_LEVEL_ERROR});
  EXPECT_VALUE(length == message.size(), true);
  EXPECT_VALUE(message, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuEventCreate");
  EXPECT_ANSWER(driver().cuLogsUnregisterCallback(handle), CUDA_SUCCESS);
  fail();
  EXPECT_VALUE(calls, 1);
}
TEST_F(Logs, Tell_each_function) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  CUlogsCallbackHandle second = nullptr;
  EXPECT_ANSWER(driver().cuLogsRegisterCallback(keep, this, &handle), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuLogsRegisterCallback(keep, this, &second), CUDA_SUCCESS);
  fail();
  EXPECT_VALUE(calls, 2);
}
// For some errors the driver writes another message, with the cause, before this one.
TEST_F(Logs, Tell_errors_of_each_kind) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuLogsRegisterCallback(keep, this, &handle));
  driver().cuMemFree(77);
  EXPECT_VALUE(message, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
  driver().cuMemAlloc(&pointer, 0);
  EXPECT_VALUE(message, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2");
  driver().cuDeviceGet(&device, 99);
  EXPECT_VALUE(message, "Returning 101 (CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet");
  driver().cuCtxSetCurrent(nullptr);
  driver().cuCtxSynchronize();
  EXPECT_VALUE(message, "Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuCtxSynchronize");
  const char *name = nullptr;
  driver().cuGetErrorString(static_cast<CUresult>(12345), &name);
  RECORD_VALUE(message);
}
TEST_F(Logs, Do_not_tell_of_unfinished_work) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuLogsRegisterCallback(keep, this, &handle));
  const CUstream work = stream();
  auto held = hold(work);
  driver().cuStreamQuery(work);
  held.release();
  EXPECT_VALUE(calls, 0);
}
TEST_F(Logs, Are_unregistered_once) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  NEED(driver().cuLogsRegisterCallback(keep, this, &handle));
  NEED(driver().cuLogsUnregisterCallback(handle));
  // The real driver crashes.
  EXPECT_ANSWER(driver().cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(Logs, Without_a_handle_are_not_unregistered, driver().cuLogsUnregisterCallback(nullptr),
          CUDA_ERROR_INVALID_VALUE)

// ---- The buffer ----

STATEMENT(Logs, Need_a_place_for_the_position, driver().cuLogsCurrent(nullptr, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Logs, Have_a_position, driver().cuLogsCurrent(&since, 0), CUDA_SUCCESS)
// The documentation requires 0 as flags.
STATEMENT(Logs, Have_a_position_with_any_flags, driver().cuLogsCurrent(&since, 1), CUDA_SUCCESS)
TEST_F(Logs, Of_no_errors_are_empty) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuLogsCurrent(&since, 0), CUDA_SUCCESS);
  RECORD_VALUE(since);
  EXPECT_ANSWER(read(), CUDA_SUCCESS);
  EXPECT_VALUE(size, std::size_t{0});
  EXPECT_VALUE(text[0] == 'x', true);
}
TEST_F(Logs, Are_read_from_a_position) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  fail();
  EXPECT_ANSWER(driver().cuLogsCurrent(&since, 0), CUDA_SUCCESS);
  RECORD_VALUE(since);
  const CUlogIterator before = since;
  fail();
  fail();
  EXPECT_ANSWER(read(), CUDA_SUCCESS);
  EXPECT_VALUE(text[size] == '\0', true);
  EXPECT_VALUE(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'), 2);
  EXPECT_VALUE(static_cast<int>(since - before), 2);
  EXPECT_VALUE(without_time(text), "[CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuEventCreate");
  EXPECT_ANSWER(read(), CUDA_SUCCESS);
  EXPECT_VALUE(size, std::size_t{0});
}
TEST_F(Logs, Are_read_from_the_start) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  fail();
  fail();
  size = text.size();
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0), CUDA_SUCCESS);
  EXPECT_VALUE(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'), 2);
}
TEST_F(Logs, Need_a_buffer) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  fail();
  size = 1000;
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(&since, nullptr, &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(&since, text.data(), nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(&since, text.data(), &size, 1), CUDA_SUCCESS);
  size = 3;
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(size, std::size_t{0});
}
TEST_F(Logs, In_a_small_buffer_are_the_newest) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  for (int i = 0; i < 50; ++i) fail();
  size = 1000;
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0), CUDA_SUCCESS);
  // The driver fills the buffer with messages, and then puts a notice before them.
  EXPECT_VALUE(size < 1000, false);
  EXPECT_VALUE(text.substr(0, text.find('\n')),
               "The provided buffer is not large enough to hold all messages. Some messages will be missing");
}
TEST_F(Logs, Beyond_the_buffer_are_lost) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  for (int i = 0; i < 3000; ++i) fail();
  size = text.size();
  EXPECT_ANSWER(driver().cuLogsDumpToMemory(nullptr, text.data(), &size, 0), CUDA_SUCCESS);
  EXPECT_VALUE(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'), 101);
  EXPECT_VALUE(text.substr(0, text.find('\n')),
               "Log buffer has rolled over since the previous dump. The oldest messages will be missing");
}
TEST_F(Logs, Are_written_to_a_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  fail();
  char path[] = "/tmp/log_of_a_test_XXXXXX";
  close(mkstemp(path));
  EXPECT_ANSWER(driver().cuLogsDumpToFile(nullptr, path, 0), CUDA_SUCCESS);
  std::ifstream file(path);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_VALUE(std::count(content.begin(), content.end(), '\n'), 1);
  EXPECT_VALUE(without_time(content), "[CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuEventCreate");
  EXPECT_ANSWER(driver().cuLogsDumpToFile(nullptr, path, 0), CUDA_SUCCESS);
  std::ifstream again(path);
  const std::string twice((std::istreambuf_iterator<char>(again)), std::istreambuf_iterator<char>());
  EXPECT_VALUE(std::count(twice.begin(), twice.end(), '\n'), 1);
  std::remove(path);
}
TEST_F(Logs, Are_not_written_to_no_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  fail();
  EXPECT_ANSWER(driver().cuLogsDumpToFile(nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLogsDumpToFile(nullptr, "/no/such/folder/log", 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLogsDumpToFile(nullptr, "/no/such/folder/log", 1), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

#endif
