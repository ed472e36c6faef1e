// SPDX-License-Identifier: Apache-2.0
// A second process to talk to, started by exec of this program with the same driver.
//
//   CUSHIM_CHILD(importer) {                        // at namespace scope
//     const auto handle = parent.receive<CUipcMemHandle>();
//     ...
//     parent.send(result);
//   }
//   ...
//   Child child("importer");
//   child.send(handle);
//   const auto result = child.receive<CUresult>();
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <type_traits>

namespace cushim::testing {

// Sends and receives plain values. The two sides must agree on the order and the types; a value of another
// size and an end that is gone are a std::runtime_error.
class Channel {
 public:
  explicit Channel(int file) : file_(file) {}

  template <class T>
  void send(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  template <class T>
  T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }

 protected:
  int file_;

 private:
  void send_bytes(const void *bytes, std::size_t size);
  void receive_bytes(void *bytes, std::size_t size);
};

// The other process. It ends with its body, and the kernel kills it (PR_SET_PDEATHSIG) when the thread that
// started it ends, the process with it or not: make it on a thread that outlives it.
class Child : public Channel {
 public:
  explicit Child(const char *name);
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  // Waits for the end of a process that wait() has not seen; kills it first.
  ~Child();

  // Closes the channel and waits for the end: 0 if the body returned, 1 if it threw, -signal.
  int wait();

  // Ends it as the kernel would, without any of its destructors.
  void kill();

 private:
  pid_t process_ = -1;
};

namespace detail {
struct ChildBody {
  ChildBody(const char *name, void (*body)(Channel &parent));
};
}  // namespace detail

}  // namespace cushim::testing

#define CUSHIM_CHILD(name)                                                                                \
  static void cushim_child_##name(::cushim::testing::Channel &parent);                                    \
  static const ::cushim::testing::detail::ChildBody cushim_child_body_##name(#name, cushim_child_##name); \
  static void cushim_child_##name([[maybe_unused]] ::cushim::testing::Channel &parent)
