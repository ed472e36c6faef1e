// SPDX-License-Identifier: Apache-2.0
// Pairs of an exporter and an importer that wait for each other repeatedly. One of them is killed (and reaped
// or not), or stopped and continued, at any point. The other must come to its end. And eight processes that
// map one exported allocation, killed at any step.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <random>
#include <string>

#include "pair.hpp"
#include "support/mapped_memory.hpp"

namespace cushim::processes {
namespace {

constexpr int kRounds = 24;
constexpr std::size_t kPart = 64 << 10;  // poisoned as a unit when the first process touches it

// Holds the work of a round until the other process may have begun to wait for it.
void record_late(CUstream stream, CUevent event, Channel &parent) {
  testing::Hold held = testing::hold(stream);
  need(driver().cuEventRecord(event, stream));
  parent.send(0);
  held.release();
}

CUSHIM_CHILD(exporter) {
  parent.send(getpid());
  const CUstream stream = begin();
  const Exported mine(kRounds * kPart);
  parent.send(mine.handles);
  for (int round = 0; round < kRounds; ++round) {
    const CUdeviceptr part = mine.memory + static_cast<std::size_t>(round) * kPart;
    need(driver().cuMemsetD8Async(part, static_cast<unsigned char>(round), 4096, stream));
    record_late(stream, mine.there, parent);
    need(driver().cuStreamWaitEvent(stream, mine.back, 0));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuEventSynchronize(mine.back));
  }
}

// The exporter may end before the importer opens anything; after that the importer does not need it.
CUSHIM_CHILD(importer) {
  parent.send(getpid());
  const CUstream stream = begin();
  const auto handles = parent.receive<Handles>();
  CUdeviceptr memory = 0;
  CUevent there = nullptr, back = nullptr;
  const bool is_open = driver().cuIpcOpenMemHandle(&memory, handles.memory, 1) == CUDA_SUCCESS &&
                       driver().cuIpcOpenEventHandle(&there, handles.there) == CUDA_SUCCESS &&
                       driver().cuIpcOpenEventHandle(&back, handles.back) == CUDA_SUCCESS;
  parent.send(int{is_open});
  for (int round = 0; is_open && round < kRounds; ++round) {
    unsigned char byte = 0;
    need(driver().cuStreamWaitEvent(stream, there, 0));
    const CUdeviceptr part = memory + static_cast<std::size_t>(kRounds - 1 - round) * kPart;
    need(driver().cuMemcpyDtoHAsync(&byte, part, 1, stream));
    record_late(stream, back, parent);
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuEventSynchronize(there));
  }
  if (memory != 0) need(driver().cuIpcCloseMemHandle(memory));
}

// Receives from a process until it ends, and returns its status.
int status_of(Child &child) {
  try {
    for (;;) child.receive<int>();
  } catch (const std::runtime_error &) {
    return child.wait();  // the process has closed its end of the pipe
  }
}

// Returns a number from the environment.
int wanted(const char *variable, int otherwise) {
  const char *const number = std::getenv(variable);
  return number != nullptr ? std::atoi(number) : otherwise;
}

enum class Fate { killed, left_a_zombie, stopped };

const char *name_of(Fate fate) {
  return fate == Fate::killed ? "killed" : fate == Fate::stopped ? "stopped" : "left a zombie";
}

// Stops a process, and continues it after `yields` calls of sched_yield().
void stop(pid_t process, unsigned yields) {
  kill(process, SIGSTOP);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(process), &info, WSTOPPED | WEXITED | WNOWAIT);
  while (yields-- != 0) sched_yield();
  kill(process, SIGCONT);
}

TEST(AProcess, That_is_killed_or_stopped_leaves_its_peer_running_and_nothing_behind) {
  std::mt19937 random(std::random_device{}());
  const int files_before = open_files();
  const int pairs = wanted("CUSHIM_TEST_PAIRS", 30);
  ASSERT_GT(pairs, 0);
  int opened = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Child exporter("exporter"), importer("importer");
    const auto exporter_process = exporter.receive<pid_t>(), importer_process = importer.receive<pid_t>();
    importer.send(exporter.receive<Handles>());
    const bool is_exporter = random() % 2 == 0;
    const auto fate = static_cast<Fate>(random() % 3);
    Child &victim = is_exporter ? exporter : importer;
    Child &survivor = is_exporter ? importer : exporter;
    const pid_t process = is_exporter ? exporter_process : importer_process;
    // Stop or kill at any point: from before the handles are opened to the last rounds.
    const int steps = static_cast<int>(random() % 12);
    if (steps != 0 && importer.receive<int>() != 0) {
      ++opened;
      for (int step = 1; step < steps; ++step) victim.receive<int>();
    }
    if (fate == Fate::killed)
      victim.kill();
    else if (fate == Fate::left_a_zombie)
      kill(process, SIGKILL);
    else
      stop(process, static_cast<unsigned>(random() % 500));
    const std::string what = "pair " + std::to_string(pair) + ", the " +
                             (is_exporter ? "exporter " : "importer ") + name_of(fate) + " after " +
                             std::to_string(steps) + " steps";
    ASSERT_EQ(status_of(survivor), 0) << what;
    if (fate == Fate::stopped) {
      ASSERT_EQ(status_of(victim), 0) << what;
    }
  }
  EXPECT_GT(opened, 0);
  EXPECT_EQ(open_files(), files_before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left over";
  EXPECT_EQ(errno, ECHILD);
}

// ---- Processes that map one exported allocation ----

constexpr std::size_t kMappers = 8;

CUresult import(CUmemGenericAllocationHandle *memory, int file) {
  return driver().cuMemImportFromShareableHandle(memory, reinterpret_cast<void *>(std::intptr_t{file}),
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

// Maps the memory and unmaps it, again and again. Reports each step. Writes to its own part only.
CUSHIM_CHILD(mapper) {
  const CUstream stream = begin();
  const int file = parent.receive<int>(), number = parent.receive<int>();
  const CUmemAccessDesc access = test::full_access();
  constexpr std::size_t kSize = 2 << 20;
  static_assert(kMappers * kPart <= kSize);
  for (int round = 0; round < 3; ++round) {
    CUmemGenericAllocationHandle memory = 0;
    CUdeviceptr at = 0;
    need(import(&memory, file));
    parent.send(0);
    need(driver().cuMemAddressReserve(&at, kSize, 0, 0, 0));
    need(driver().cuMemMap(at, kSize, 0, memory, 0));
    parent.send(0);
    need(driver().cuMemSetAccess(at, kSize, &access, 1));
    const CUdeviceptr part = at + static_cast<std::size_t>(number) * kPart;
    need(driver().cuMemsetD8Async(part, static_cast<unsigned char>(number + 1), kPart, stream));
    parent.send(0);
    unsigned char byte = 0;
    need(driver().cuMemcpyDtoHAsync(&byte, part + kPart - 1, 1, stream));
    need(driver().cuStreamSynchronize(stream));
    if (byte != number + 1) throw std::runtime_error("the memory has another content");
    parent.send(0);
    need(driver().cuMemUnmap(at, kSize));
    need(driver().cuMemRelease(memory));
    need(driver().cuMemAddressFree(at, kSize));
    parent.send(0);
  }
}

// CUSHIM_TEST_MAPPINGS sets the number of rounds.
TEST(EightProcesses, That_map_one_memory_are_killed_at_any_step_and_leave_it_usable) {
  std::mt19937 random(std::random_device{}());
  const CUstream stream = begin();
  const CUmemAccessDesc access = test::full_access();
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  constexpr std::size_t kSize = 2 << 20;
  const int rounds = wanted("CUSHIM_TEST_MAPPINGS", 3);
  int files_before = -1;
  for (int round = 0; round < rounds; ++round) {
    CUmemGenericAllocationHandle memory = 0;
    CUdeviceptr at = 0;
    int file = -1;
    need(driver().cuMemCreate(&memory, kSize, &properties, 0));
    need(driver().cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASSERT_EQ(fcntl(file, F_SETFD, 0), 0);  // for exec
    need(driver().cuMemAddressReserve(&at, kSize, 0, 0, 0));
    need(driver().cuMemMap(at, kSize, 0, memory, 0));
    need(driver().cuMemSetAccess(at, kSize, &access, 1));
    std::deque<Child> mappers;
    for (std::size_t i = 0; i < kMappers; ++i) {
      mappers.emplace_back("mapper").send(file);
      mappers.back().send(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < kMappers; ++i) {
      const unsigned steps = random() % 20;  // of 15: some processes reach their end
      const bool is_killed = steps < 15;
      for (unsigned step = 0; is_killed && step < steps; ++step) mappers[i].receive<int>();
      if (is_killed)
        mappers[i].kill();
      else
        EXPECT_EQ(status_of(mappers[i]), 0);
      if (steps < 4) continue;  // it may not have written
      unsigned char byte = 0;
      need(driver().cuMemcpyDtoH(&byte, at + i * kPart, 1));
      EXPECT_EQ(byte, i + 1);
    }
    mappers.clear();
    need(driver().cuMemsetD8Async(at, 99, kSize, stream));
    unsigned char byte = 0;
    need(driver().cuMemcpyDtoHAsync(&byte, at + kSize - 1, 1, stream));
    need(driver().cuStreamSynchronize(stream));
    EXPECT_EQ(byte, 99);
    need(driver().cuMemUnmap(at, kSize));
    need(driver().cuMemRelease(memory));
    need(driver().cuMemAddressFree(at, kSize));
    close(file);
    if (round == 0) files_before = open_files();
  }
  EXPECT_EQ(open_files(), files_before);
  need(driver().cuStreamDestroy(stream));
}

}  // namespace
}  // namespace cushim::processes
