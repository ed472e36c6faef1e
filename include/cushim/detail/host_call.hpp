// SPDX-License-Identifier: Apache-2.0
// Passes a callable through the driver, which takes a plain function and a pointer.
#pragma once

#include <cushim/error.hpp>

#include <memory>
#include <utility>

namespace cushim {
inline namespace v1 {
namespace detail {

// Owns a callable. Catches its exceptions and passes them to the unreported handler, because they must not
// unwind through the driver.
template <class Function>
class HostCall {
 public:
  explicit HostCall(Function function) : function_(std::move(function)) {}

  template <class... Arguments>
  void run(Arguments... arguments) noexcept {
    try {
      function_(arguments...);
    } catch (const std::exception &exception) {
      unreported_handler.load()(exception);
    } catch (...) {
      unreported_handler.load()(
          std::runtime_error("a host function threw something that is not a std::exception"));
    }
  }

  // For a function that is called exactly once: runs and deletes it.
  static void CUDA_CB once(void *data) { std::unique_ptr<HostCall>(static_cast<HostCall *>(data))->run(); }
  // For a function that is called any number of times, until its owner is destroyed.
  static void CUDA_CB repeatedly(void *data) { static_cast<HostCall *>(data)->run(); }

 private:
  Function function_;
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim
