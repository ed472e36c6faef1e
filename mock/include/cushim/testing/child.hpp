// SPDX-License-Identifier: Apache-2.0
// A second process that exchanges messages with the test, started by exec of this program with the same
// driver.
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

// Sends and receives plain values. The two sides must agree on the order and the types. Throws
// std::runtime_error if the size differs or the other end is closed.
class Channel {
 public:
  explicit Channel(int file) : file_(file) {}

  // Sends a trivially copyable value.
  template <class T>
  void send(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  // Waits for a value of this type and returns it.
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

// A child process. It ends when its body returns. The kernel kills it (PR_SET_PDEATHSIG) when the thread
// that started it ends, even if the process goes on: start it on a thread that outlives it.
class Child : public Channel {
 public:
  explicit Child(const char *name);
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  // Kills the process if wait() has not seen its end, and waits for it.
  ~Child();

  // Closes the channel and waits for the process. Returns 0 if the body returned, 1 if it threw, or the
  // negative signal number.
  int wait();

  // Kills the process (SIGKILL): none of its destructors run.
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

// Begins the definition of a child process; `parent` is the child's channel to the test.
#define CUSHIM_CHILD(name)                                                                                \
  static void cushim_child_##name(::cushim::testing::Channel &parent);                                    \
  static const ::cushim::testing::detail::ChildBody cushim_child_body_##name(#name, cushim_child_##name); \
  static void cushim_child_##name([[maybe_unused]] ::cushim::testing::Channel &parent)
