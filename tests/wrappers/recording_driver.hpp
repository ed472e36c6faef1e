// SPDX-License-Identifier: Apache-2.0
// The driver of the wrappers' unit tests: records every call, and behaves as scripted. Tracks what it hands
// out and what is released, and can make the n-th call fail.
#pragma once

#include <cushim/cushim.hpp>

#include <any>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "support/handle_number.hpp"

namespace cushim::test {

template <int slot>
struct SignatureOf;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  template <> struct SignatureOf<slot> { using type = CUresult parameters; };
#include <cushim/entry_points.inc>
// clang-format on

// A recording driver that is current during its lifetime. One at a time.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  static Driver &driver();

  // Returns all calls so far, and clears the list: "cuEventRecord(0x1000, null)". Symbols are exact. Opaque
  // handles and addresses are hexadecimal, numbers decimal; "&" is a pointer to something that the driver
  // reads or writes, "{}" a structure.
  std::vector<std::string> calls() { return std::exchange(calls_, {}); }

  // Sets the behaviour of an entry point.
  template <Entry entry>
  void on(std::function<typename SignatureOf<static_cast<int>(entry)>::type> behaviour) {
    behaviours_[static_cast<int>(entry)] = std::move(behaviour);
  }
  // Sets the behaviour of several entry points.
  template <Entry... entries, class Behaviour>
  void on_each(const Behaviour &behaviour) {
    (on<entries>(behaviour), ...);
  }
  // Copies the structure to which the last argument of an entry point's calls points.
  template <Entry entry, class Structure>
  void keeps_last_argument(Structure &structure) {
    on<entry>([&structure](auto... arguments) {
      structure = *std::get<sizeof...(arguments) - 1>(std::tuple(arguments...));
      return CUDA_SUCCESS;
    });
  }
  // Makes two entry points create and destroy objects of a kind, which live() lists.
  template <Entry create, Entry destroy>
  void tracks(const char *noun) {
    on<create>([this, noun](auto *handle, auto...) {
      *handle = this->acquire<std::remove_pointer_t<decltype(handle)>>(noun);
      return CUDA_SUCCESS;
    });
    on<destroy>([this, noun](auto handle) { return this->give_back(this->name(noun, number_of(handle))); });
  }
  // Sets the result of an entry point.
  void answer(Entry entry, CUresult result) { answers_[static_cast<int>(entry)] = result; }

  // Makes the n-th call from now (1 is the next) return result. An acquiring call then acquires nothing. A
  // releasing call releases nevertheless, because a program can do no better than call it once.
  void fail(int nth, CUresult result) {
    countdown_ = nth;
    failure_ = result;
  }
  // Returns the base name of the call that was made to fail; empty if none was.
  const std::string &failed() const { return failed_; }

  // Returns the objects that were handed out and not released: "event 0x1000".
  std::vector<std::string> live() const;
  // Returns the releases of objects that were not live: released twice, or never handed out.
  const std::vector<std::string> &wrong_releases() const { return wrong_releases_; }

  // Returns the texts that the unreported handler received during this object's lifetime.
  static std::vector<std::string> &unreported();

  // Host functions and callbacks that were launched. Calling an element runs it.
  std::vector<std::function<void()>> launched;

  // For FakeEntry, which handles every row: records the call. Contains the result to return regardless of the
  // behaviour, if any, and the behaviour, a std::function; null or empty for none.
  struct Entered {
    std::optional<CUresult> answer;
    const std::any *behaviour;
  };
  Entered enter(int slot, std::string call);
  static Recording &active();

 private:
  template <class Handle>
  Handle acquire(const char *what) {
    next_ += 0x1000;
    ++live_[name(what, next_)];
    return handle_of<Handle>(next_);
  }
  static std::string name(const char *what, std::uint64_t handle) {
    return std::string(what) + " " + detail::hexadecimal(handle);
  }
  void acquire(const std::string &what) { ++live_[what]; }
  CUresult give_back(const std::string &what);
  void behave();
  void behave_graphs();

  // A user object. Belongs to the program if the graph is null.
  struct UserObject {
    std::function<void()> destroy;
    CUgraph graph;
  };
  CUresult end(CUuserObject object);

  std::vector<std::string> calls_;
  std::array<std::any, CUSHIM_TABLE_CAPACITY> behaviours_;
  std::map<int, CUresult> answers_;
  std::map<std::string, int> live_;
  std::vector<std::string> wrong_releases_;
  std::vector<CUcontext> stack_;
  std::map<CUuserObject, UserObject> user_objects_;
  bool is_captured_into_graph_ = false;  // the capture in progress adds to an existing graph
  std::uintptr_t next_ = 0;
  std::uintptr_t next_node_ = 0xa00000;
  int countdown_ = 0;
  CUresult failure_ = CUDA_SUCCESS;
  std::string failed_;
  ScopedDriver scope_;
  UnreportedHandler handler_before_;
};

// The primary context of every device of the recording driver, and the context of every stream.
inline const CUcontext kPrimary = reinterpret_cast<CUcontext>(0xc0);
inline const CUcontext kStreamContext = reinterpret_cast<CUcontext>(0xd0);

inline CUstream stream_handle(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }
inline CUevent event_handle(std::uintptr_t number) { return reinterpret_cast<CUevent>(number); }
inline CUcontext context_handle(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }

// Handles that many tests pass.
inline const CUstream kRaw = stream_handle(0x50);
inline Device device_3() { return Device::from_handle(3); }
inline const ContextRef kContext = ContextRef::from_handle(context_handle(0xc1), Recording::driver());
inline const GraphRef kGraph = GraphRef::from_handle(reinterpret_cast<CUgraph>(0x90), Recording::driver());
inline const Function kFunction =
    Function::from_handle(reinterpret_cast<CUfunction>(0xf0), Recording::driver());
inline ContextRef context_c1() { return ContextRef::from_handle(context_handle(0xc1)); }

// Returns the address as the calls of a Recording contain it.
inline std::string hex(const void *pointer) {
  return detail::hexadecimal(reinterpret_cast<std::uintptr_t>(pointer));
}

using Calls = std::vector<std::string>;

// Returns the Error that an action throws. Fails the test if it throws none.
Error error_of(const std::function<void()> &action);
// The same, if the action throws one.
std::optional<Error> thrown_by(const std::function<void()> &action);

}  // namespace cushim::test
