// SPDX-License-Identifier: Apache-2.0
// Events and memory that a process of another user opens.
#include <unistd.h>

#include <stdexcept>

#include "ipc_events.hpp"

namespace conformance {
namespace {

// Opens the parent's handles as another user. First sends whether the process could become that user.
CUSHIM_CHILD(other_user) {
  constexpr unsigned kUser = 65534;  // the user and group that own no files on Linux
  const bool is_other_user = setgid(kUser) == 0 && setuid(kUser) == 0;
  parent.send(is_other_user);
  if (!is_other_user) return;
  make_context();
  const auto event_handle = parent.receive<CUipcEventHandle>();
  const auto memory_handle = parent.receive<CUipcMemHandle>();
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  parent.send(driver().cuIpcOpenEventHandle(&event, event_handle));
  parent.send(driver().cuIpcOpenMemHandle(&memory, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

struct AnswersToOtherUser {
  CUresult event, memory;
};
AnswersToOtherUser answers_to_other_user(IpcEvents &test) {
  const CUipcEventHandle of_event = test.exported(test.event(kShared));
  CUipcMemHandle of_memory = {};
  NEED(driver().cuIpcGetMemHandle(&of_memory, test.memory()));
  Child child("other_user");
  if (!child.receive<bool>()) throw std::runtime_error("root cannot become another user");
  child.send(of_event);
  child.send(of_memory);
  const auto event = child.receive<CUresult>(), memory = child.receive<CUresult>();
  EXPECT_EQ(child.wait(), 0);
  return {event, memory};
}
TEST_F(IpcEvents, Are_not_opened_by_another_user) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_ANSWER(answers_to_other_user(*this).event, CUDA_ERROR_MAP_FAILED);
}
TEST_F(IpcEvents, Memory_is_opened_by_another_user) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_ANSWER(answers_to_other_user(*this).memory, CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance
