// SPDX-License-Identifier: Apache-2.0
// Another process that exports memory and an event, whose tables a target can spoil.
#pragma once

#include <sys/types.h>

#include "fuzz.hpp"
#include "share_table.hpp"

namespace fuzz {

class Exporter {
 public:
  // The device that its memory is of.
  explicit Exporter(const CUuuid &device);
  ~Exporter();
  Exporter(const Exporter &) = delete;
  Exporter &operator=(const Exporter &) = delete;

  using ShareHandle = cushim::sim::ShareHandle;
  using ShareLayout = cushim::sim::ShareLayout;

  // Makes all good again.
  void reset();
  ShareHandle handle(ShareHandle::Kind kind) const;
  ShareLayout &layout() { return *layout_; }
  // Whoever waits for the event need not wait any more.
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
