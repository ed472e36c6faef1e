// SPDX-License-Identifier: Apache-2.0
// File descriptors that shared memory uses, and the message if shared memory is not available.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "pair.hpp"

namespace cushim::processes {
namespace {

constexpr int kMany = 300;
constexpr std::size_t kBlock = 2 << 20;

void limit_files(rlim_t number) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = number;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Starts a child that may open 64 files. Returns the number of its open files.
int begin_with_few_files() {
  begin();
  limit_files(64);
  return open_files();
}

CUSHIM_CHILD(exporter_of_many) {
  const int before = begin_with_few_files();
  std::vector<CUdeviceptr> all(kMany);
  for (int i = 0; i < kMany; ++i) {
    CUipcMemHandle handle;
    need(driver().cuMemAlloc(&all[static_cast<std::size_t>(i)], kBlock));
    need(driver().cuMemsetD8(all[static_cast<std::size_t>(i)], static_cast<unsigned char>(i), 1));
    need(driver().cuCtxSynchronize());
    need(driver().cuIpcGetMemHandle(&handle, all[static_cast<std::size_t>(i)]));
    parent.send(handle);
  }
  parent.receive<int>();
  for (const CUdeviceptr memory : all) need(driver().cuMemFree(memory));
  parent.send(open_files() - before);
  parent.receive<int>();
}

CUSHIM_CHILD(importer_of_many) {
  const int before = begin_with_few_files();
  std::vector<CUdeviceptr> all(kMany);
  for (int i = 0; i < kMany; ++i) {
    unsigned char byte = 0;
    need(driver().cuIpcOpenMemHandle(&all[static_cast<std::size_t>(i)], parent.receive<CUipcMemHandle>(), 1));
    need(driver().cuMemcpyDtoH(&byte, all[static_cast<std::size_t>(i)], 1));
    if (byte != static_cast<unsigned char>(i)) throw std::runtime_error("memory of another allocation");
  }
  parent.send(0);
  parent.receive<int>();
  for (const CUdeviceptr memory : all) need(driver().cuIpcCloseMemHandle(memory));
  parent.send(open_files() - before);
}

TEST(SharedMemory, Of_many_allocations_takes_few_descriptors) {
  Child exporter("exporter_of_many"), importer("importer_of_many");
  for (int i = 0; i < kMany; ++i) importer.send(exporter.receive<CUipcMemHandle>());
  importer.receive<int>();
  exporter.send(0);
  EXPECT_LE(exporter.receive<int>(), 1) << "the exporter keeps its table, and no memory";
  importer.send(0);
  EXPECT_LE(importer.receive<int>(), 2) << "the importer may keep the way to the exporter, and no memory";
  exporter.send(0);
  EXPECT_EQ(exporter.wait(), 0);
  EXPECT_EQ(importer.wait(), 0);
}

CUSHIM_CHILD(exporter_without_descriptors) {
  begin();
  CUdeviceptr memory = 0;
  CUipcMemHandle handle;
  need(driver().cuMemAlloc(&memory, kBlock));
  limit_files(16);
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) continue;
  parent.send(driver().cuIpcGetMemHandle(&handle, memory));
}

TEST(SharedMemory, Names_the_limit_where_no_descriptor_is_left) {
  if (kNeedsDescriptors) GTEST_SKIP() << "a sanitizer of this build needs descriptors";
  ::testing::internal::CaptureStderr();
  Child child("exporter_without_descriptors");
  const auto code = child.receive<CUresult>();
  const int status = child.wait();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(status, 0);
  EXPECT_NE(said.find("RLIMIT_NOFILE is 16"), std::string::npos) << said;
}

CUSHIM_CHILD(importer_that_sees_no_proc) {
  begin();
  const auto handles = parent.receive<Handles>();
  const bool is_hidden = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
  parent.send(static_cast<int>(is_hidden));
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  parent.send(driver().cuIpcOpenMemHandle(&memory, handles.memory, 1));
  parent.send(driver().cuIpcOpenEventHandle(&event, handles.there));
}

TEST(AProcess, Without_proc_gets_the_reason_why_opening_fails) {
  begin();
  const Exported exported;
  ::testing::internal::CaptureStderr();
  Child child("importer_that_sees_no_proc");
  child.send(exported.handles);
  const bool is_hidden = child.receive<int>() != 0;
  const auto memory = child.receive<CUresult>();
  const auto event = child.receive<CUresult>();
  child.wait();
  const std::string said = ::testing::internal::GetCapturedStderr();
  if (!is_hidden) GTEST_SKIP() << "/proc cannot be hidden from a process here";
  EXPECT_EQ(memory, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(event, CUDA_ERROR_MAP_FAILED);
  EXPECT_NE(said.find("cuIpcOpenMemHandle"), std::string::npos) << said;
  EXPECT_NE(said.find("cuIpcOpenEventHandle"), std::string::npos) << said;
  EXPECT_NE(said.find("/proc"), std::string::npos) << said;
}

}  // namespace
}  // namespace cushim::processes
