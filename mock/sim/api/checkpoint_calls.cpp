// SPDX-License-Identifier: Apache-2.0
// Checkpoints of the process itself. Measured on an H200, driver 580, except where noted.
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "api/reserved.hpp"
#include "api/service.hpp"

#if CUDA_VERSION >= 12080

namespace cushim::sim {
namespace {

using State = Checkpoint::State;

// Other processes are not reached. A process without the driver is not initialized, as on the real driver.
void require_own(int pid) {
  if (pid == getpid()) return;
  require(pid > 0 && (kill(pid, 0) == 0 || errno == EPERM), CUDA_ERROR_OPERATING_SYSTEM);
  fail(CUDA_ERROR_NOT_INITIALIZED);
}

void change(Call &call, State from, State to) {
  require(call.system.checkpoint.state() == from, CUDA_ERROR_ILLEGAL_STATE);
  call.system.checkpoint.set(to);
}

CUresult get_state(Call &call, int pid, CUprocessState *out) {
  require(out != nullptr);
  require_own(pid);
  switch (call.system.checkpoint.state()) {
    case State::running:
      *out = CU_PROCESS_STATE_RUNNING;
      break;
    case State::locked:
      *out = CU_PROCESS_STATE_LOCKED;
      break;
    case State::checkpointed:
      *out = CU_PROCESS_STATE_CHECKPOINTED;
  }
  return CUDA_SUCCESS;
}

// The simulated driver has no thread that restores: 0.
CUresult get_restore_thread(Call &, int pid, int *out) {
  require(out != nullptr);
  require_own(pid);
  *out = 0;
  return CUDA_SUCCESS;
}

// Does not wait for work, so the time limit does not matter.
CUresult lock(Call &call, int pid, CUcheckpointLockArgs *with) {
  require_own(pid);
  require(with == nullptr || (with->reserved0 == 0 && is_zero(with->reserved1)));
  change(call, State::running, State::locked);
  return CUDA_SUCCESS;
}

// Implements calls whose arguments have only reserved members.
template <State from, State to, class Arguments>
CUresult change(Call &call, int pid, Arguments *with) {
  require_own(pid);
  require(with == nullptr || is_zero(with->reserved));
  change(call, from, to);
  return CUDA_SUCCESS;
}

CUresult restore(Call &call, int pid, CUcheckpointRestoreArgs *with) {
  require_own(pid);
#if CUDA_VERSION >= 13000
  if (with != nullptr && with->gpuPairsCount != 0) {
    call.system.engine.report(std::string(call.name) + ": a restore to other devices is not implemented");
    fail(CUDA_ERROR_NOT_SUPPORTED);
  }
#endif
  return change<State::checkpointed, State::locked>(call, pid, with);
}

}  // namespace

constinit const Entries entries_of_checkpoints = {
    entry<"cuCheckpointProcessGetState", get_state, When::also_while_locked>,
    entry<"cuCheckpointProcessGetRestoreThreadId", get_restore_thread, When::also_while_locked>,
    entry<"cuCheckpointProcessLock", lock, When::also_while_locked>,
    entry<"cuCheckpointProcessCheckpoint",
          change<State::locked, State::checkpointed, CUcheckpointCheckpointArgs>, When::also_while_locked>,
    entry<"cuCheckpointProcessRestore", restore, When::also_while_locked>,
    entry<"cuCheckpointProcessUnlock", change<State::locked, State::running, CUcheckpointUnlockArgs>,
          When::also_while_locked>,
};

}  // namespace cushim::sim

#endif
