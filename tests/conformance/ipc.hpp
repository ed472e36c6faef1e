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
    CUSHIM_NEEDS(ipc);
    Base::SetUp();
  }
};

inline CUresult get_handle(CUipcEventHandle *handle, CUevent event) {
  return driver().cuIpcGetEventHandle(handle, event);
}
inline CUresult get_handle(CUipcMemHandle *handle, CUdeviceptr address) {
  return driver().cuIpcGetMemHandle(handle, address);
}

// A fixture that exports events or memory.
template <class Handle, class Object>
class Exporting : public WithIpc<OnDevice> {
 public:
  Handle handle = {};
  Handle exported(Object object) {
    NEED(get_handle(&handle, object));
    return handle;
  }
};

}  // namespace conformance
