// SPDX-License-Identifier: Apache-2.0
#include "exporter.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace fuzz {

namespace {

using namespace cushim::sim;

constexpr std::uint64_t kNonce = 7, kBlocksNonce = 8;
constexpr std::size_t kSize = SharedBlocks::kBlock;

std::uint64_t start_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  for (int field = 3; field < 22; ++field) rest >> text;
  std::uint64_t start = 0;
  rest >> start;
  promise(!rest.fail(), "a process has a start");
  return start;
}

}  // namespace

Exporter::Exporter(const CUuuid &device)
    : device_(device),
      table_(SharedFile::make(sizeof(ShareLayout))),
      small_(SharedFile::make(16)),
      open_(SharedFile::make(sizeof(ShareLayout) + 4096)),
      blocks_(SharedBlocks::make(kSize, kBlocksNonce)),
      layout_(reinterpret_cast<ShareLayout *>(table_.map(0, sizeof(ShareLayout)))) {
  promise(layout_ != nullptr && small_ && open_ && blocks_ != nullptr, "files can be shared");
  const pid_t parent = getpid();
  child_ = fork();
  promise(child_ >= 0, "a process can be started");
  if (child_ == 0) {  // the child process keeps the files open and does nothing else
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) pause();
    _exit(0);
  }
  process_ = {child_, start_of(child_)};
}

Exporter::~Exporter() {
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  munmap(layout_, sizeof(ShareLayout));
}

void Exporter::reset() {
  layout_->magic = ShareLayout::kMagic;
  layout_->nonce = kNonce;
  layout_->doorbell = 0;
  layout_->sleepers = 0;
  layout_->participant_count = 1;
  layout_->participants[0].process = process_;
  layout_->participants[0].state = 1;
  layout_->participants[1].process = {};
  layout_->participants[1].state = 0;

  SharedMemoryRecord &memory = layout_->memory[0];
  memory.generation = 1;
  memory.file = blocks_->file().number();
  memory.file_nonce = kBlocksNonce;
  memory.file_size = kSize;
  memory.offset = 0;
  memory.size = kSize;
  memory.pool = 0;
  memory.device = device_;

  SharedEventRecord &event = layout_->events[0];
  event.generation = 1;
  event.holders = 1;
  event.last = std::uint64_t{1} << 16;  // its first record, by participant 0
  event.completed = 0;
  event.completed_at = 0;
}

ShareHandle Exporter::handle(ShareHandle::Kind kind) const {
  ShareHandle handle;
  handle.kind = kind;
  handle.file = table_.number();
  handle.process_id = static_cast<std::int32_t>(process_.id);
  handle.process_start = process_.start;
  handle.nonce = kNonce;
  handle.namespace_of_id = process_namespace();
  handle.user = geteuid();
  handle.generation = 1;
  handle.offset = 1;
  handle.size = kSize - 1024;
  handle.seal();
  return handle;
}

void Exporter::complete() {
  layout_->events[0].completed = UINT64_MAX;
  ++layout_->doorbell;
  syscall(SYS_futex, &layout_->doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace fuzz
