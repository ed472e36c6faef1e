// SPDX-License-Identifier: Apache-2.0
// The fixture of statements about objects that processes share by IPC handles.
#pragma once

#include "conformance.hpp"

namespace conformance {

// A fixture whose statements are skipped if the devices have no IPC.
template <class Base>
class WithIpc : public Base {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Base::SetUp());
    if (!Base::IsSkipped()) CUSHIM_NEEDS(ipc);
  }
};

}  // namespace conformance
