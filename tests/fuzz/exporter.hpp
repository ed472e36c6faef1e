// SPDX-License-Identifier: Apache-2.0
// A child process that exports memory and an event, whose shared tables a target can corrupt.
#pragma once

#include <sys/types.h>

#include "fuzz.hpp"
#include "ipc/share_table.hpp"

namespace fuzz {

class Exporter {
 public:
  using ShareHandle = cushim::sim::ShareHandle;
  using ShareLayout = cushim::sim::ShareLayout;

  // device: the device that owns the exported memory.
  explicit Exporter(const CUuuid &device);
  ~Exporter();
  Exporter(const Exporter &) = delete;
  Exporter &operator=(const Exporter &) = delete;

  // Restores valid tables.
  void reset();
  ShareHandle handle(ShareHandle::Kind kind) const;
  ShareLayout &layout() { return *layout_; }
  // Completes the event, so that waiting threads return.
  void complete();

 private:
  const CUuuid device_;
  cushim::sim::SharedFile table_, small_, open_;
  std::shared_ptr<cushim::sim::SharedBlocks> blocks_;
  ShareLayout *layout_ = nullptr;
  pid_t child_ = -1;
  cushim::sim::Process process_;
};

}  // namespace fuzz
