// SPDX-License-Identifier: Apache-2.0
// Pairs of an exporter and an importer that wait for each other again and again; one of them is killed in the
// midst of it. The other must come to its end.
#include <dirent.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>

#include "pair.hpp"

namespace cushim::processes {
namespace {

constexpr int kRounds = 24;

// The work of a round is held until the other process may have begun to wait for it.
void record_late(CUstream stream, CUevent event, Channel &parent) {
  testing::Hold held = testing::hold(stream);
  need(driver().cuEventRecord(event, stream));
  parent.send(0);
  held.release();
}

CUSHIM_CHILD(exporter) {
  const CUstream stream = begin();
  const Exported mine;
  parent.send(mine.handles);
  for (int round = 0; round < kRounds; ++round) {
    need(driver().cuMemsetD8Async(mine.memory, static_cast<unsigned char>(round), 4096, stream));
    record_late(stream, mine.there, parent);
    need(driver().cuStreamWaitEvent(stream, mine.back, 0));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuEventSynchronize(mine.back));
  }
}

// The exporter may be gone before anything is opened; after that it is not missed.
CUSHIM_CHILD(importer) {
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
    need(driver().cuMemcpyDtoHAsync(&byte, memory, 1, stream));
    record_late(stream, back, parent);
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuEventSynchronize(there));
  }
  if (memory != 0) need(driver().cuIpcCloseMemHandle(memory));
}

// Hears a process out until it ends.
int status_of(Child &child) {
  try {
    for (;;) child.receive<int>();
  } catch (const std::runtime_error &) {
    return child.wait();  // the other end is closed
  }
}

int wanted_pairs() {
  const char *const pairs = std::getenv("CUSHIM_TEST_PAIRS");
  return pairs != nullptr ? std::atoi(pairs) : 30;
}

int open_files() {
  int count = 0;
  DIR *const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(AKilledProcess, Leaves_its_peer_running_and_nothing_behind) {
  std::mt19937 random(std::random_device{}());
  const int files_before = open_files();
  const int pairs = wanted_pairs();
  ASSERT_GT(pairs, 0);
  int opened = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Child exporter("exporter"), importer("importer");
    importer.send(exporter.receive<Handles>());
    const bool kill_exporter = random() % 2 == 0;
    Child &victim = kill_exporter ? exporter : importer;
    Child &survivor = kill_exporter ? importer : exporter;
    // At any time: from before the handles are opened to the midst of the last rounds.
    const int steps = static_cast<int>(random() % 12);
    if (steps != 0 && importer.receive<int>() != 0) {
      ++opened;
      for (int step = 1; step < steps; ++step) victim.receive<int>();
    }
    victim.kill();
    ASSERT_EQ(status_of(survivor), 0) << "pair " << pair << ", killed after " << steps << " steps: the "
                                      << (kill_exporter ? "exporter" : "importer");
  }
  EXPECT_GT(opened, 0);
  EXPECT_EQ(open_files(), files_before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left over";
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace cushim::processes
