// SPDX-License-Identifier: Apache-2.0
// The processes that count as ended while others wait for events that they recorded.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "pair.hpp"

namespace cushim::processes {
namespace {

enum class Then { wait, end_main_thread, take_an_odd_name, start_a_program };

// Records the event behind a hold that is never released.
CUSHIM_CHILD(recorder) {
  const CUstream stream = begin();
  CUevent event = nullptr;
  need(driver().cuIpcOpenEventHandle(&event, parent.receive<CUipcEventHandle>()));
  new testing::Hold(testing::hold(stream));
  need(driver().cuEventRecord(event, stream));
  const auto then = parent.receive<Then>();
  if (then == Then::take_an_odd_name) prctl(PR_SET_NAME, "a) Z\n1 (b");
  parent.send(getpid());
  if (then == Then::start_a_program) execlp("sleep", "sleep", "1000", nullptr);
  if (then == Then::end_main_thread) {
    std::thread([] {
      for (;;) pause();
    }).detach();
    pthread_exit(nullptr);
  }
  parent.receive<int>();
}

// An event of this process whose record by another process is not complete.
struct Recorded {
  explicit Recorded(Then then) {
    CUipcEventHandle handle;
    need(driver().cuEventCreate(&event, kShared));
    need(driver().cuIpcGetEventHandle(&handle, event));
    child.send(handle);
    child.send(then);
    process = child.receive<pid_t>();
  }
  // Kills the process and leaves it a zombie.
  void kill_unreaped() const {
    kill(process, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
  }

  Child child{"recorder"};
  CUevent event = nullptr;
  pid_t process = 0;
};

// Waits until the driver has checked the processes that an event of the same table waits for.
void let_processes_be_looked_at() {
  const Recorded killed(Then::wait);
  killed.kill_unreaped();
  need(driver().cuEventSynchronize(killed.event));
}

class Liveness : public ::testing::TestWithParam<Then> {};

TEST_P(Liveness, A_process_lives_as_long_as_one_of_its_threads_whatever_its_name) {
  begin();
  const Recorded recorded(GetParam());
  EXPECT_EQ(driver().cuEventQuery(recorded.event), CUDA_ERROR_NOT_READY);
  let_processes_be_looked_at();
  EXPECT_EQ(driver().cuEventQuery(recorded.event), CUDA_ERROR_NOT_READY);
}

INSTANTIATE_TEST_SUITE_P(Processes, Liveness,
                         ::testing::Values(Then::wait, Then::end_main_thread, Then::take_an_odd_name));

// Leaves no file descriptor free while the object exists.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 128;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int file; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) files_.push_back(file);
  }
  ~NoDescriptors() {
    for (const int file : files_) close(file);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors &) = delete;
  NoDescriptors &operator=(const NoDescriptors &) = delete;

 private:
  rlimit before_{};
  std::vector<int> files_;
};

TEST(AProcess, Without_a_free_descriptor_detects_whether_other_processes_have_ended) {
  if (kNeedsDescriptors) GTEST_SKIP() << "a sanitizer of this build needs descriptors";
  begin();
  const Recorded living(Then::wait), dying(Then::wait);
  const NoDescriptors none;
  EXPECT_EQ(driver().cuEventQuery(living.event), CUDA_ERROR_NOT_READY);
  dying.kill_unreaped();
  need(driver().cuEventSynchronize(dying.event));
  EXPECT_EQ(driver().cuEventQuery(living.event), CUDA_ERROR_NOT_READY);
}

TEST(AProcess, That_starts_another_program_counts_as_ended) {
  begin();
  const Recorded recorded(Then::start_a_program);
  EXPECT_EQ(driver().cuEventSynchronize(recorded.event), CUDA_SUCCESS);
}

TEST(AProcess, That_has_ended_is_noticed_while_other_events_are_recorded) {
  const CUstream stream = begin();
  CUevent busy = nullptr;
  CUipcEventHandle handle;
  need(driver().cuEventCreate(&busy, kShared));
  need(driver().cuIpcGetEventHandle(&handle, busy));
  const Recorded recorded(Then::wait);
  CUstream waiting = nullptr;
  need(driver().cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  need(driver().cuStreamWaitEvent(waiting, recorded.event, 0));
  recorded.kill_unreaped();
  while (driver().cuStreamQuery(waiting) == CUDA_ERROR_NOT_READY) {
    need(driver().cuEventRecord(busy, stream));
    need(driver().cuStreamSynchronize(stream));
  }
  EXPECT_EQ(driver().cuStreamQuery(waiting), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cushim::processes
