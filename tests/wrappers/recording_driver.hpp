// SPDX-License-Identifier: Apache-2.0
// A driver that writes down every call that it gets, and behaves as scripted: what the unit tests of
// the wrappers look at. It counts what is handed out and given back, and fails the n-th call if told.
#pragma once

#include <cushim/cushim.hpp>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cushim::test {

template <int slot>
struct SignatureOf;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  template <> struct SignatureOf<slot> { using type = CUresult parameters; };
#include <cushim/entry_points.inc>
// clang-format on

// What an entry does.
class AnyBehaviour {
 public:
  virtual ~AnyBehaviour() = default;
};
template <class Signature>
class Behaviour;
template <class... Arguments>
class Behaviour<CUresult(Arguments...)> : public AnyBehaviour {
 public:
  virtual CUresult run(Arguments... arguments) const = 0;
};
template <class Signature>
class BehaviourOf;
template <class... Arguments>
class BehaviourOf<CUresult(Arguments...)> final : public Behaviour<CUresult(Arguments...)> {
 public:
  explicit BehaviourOf(std::function<CUresult(Arguments...)> body) : body_(std::move(body)) {}
  CUresult run(Arguments... arguments) const override { return body_(arguments...); }

 private:
  std::function<CUresult(Arguments...)> body_;
};

// One at a time; current while it lives.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  static Driver &driver();

  // All calls so far (and forgets them): "cuEventRecord(0x1000, null)". Symbols are exact. Opaque
  // handles and addresses are hexadecimal, numbers decimal; "&" is a pointer to something that the
  // driver reads or writes, "{}" a structure.
  std::vector<std::string> calls() { return std::exchange(calls_, {}); }

  // What an entry does from now on.
  template <Entry entry>
  void on(std::function<typename SignatureOf<static_cast<int>(entry)>::type> behaviour) {
    using Signature = typename SignatureOf<static_cast<int>(entry)>::type;
    behaviours_[static_cast<int>(entry)] = std::make_unique<BehaviourOf<Signature>>(std::move(behaviour));
  }
  // What an entry returns from now on.
  void answer(Entry entry, CUresult result) { answers_[static_cast<int>(entry)] = result; }

  // The n-th call from now on (1 is the next) returns result. A call that acquires does not; a call
  // that gives back does all the same, as nobody can do better than call it once.
  void fail(int nth, CUresult result) {
    countdown_ = nth;
    failure_ = result;
  }
  // The base name of the call that was made to fail; empty if none was.
  const std::string &failed() const { return failed_; }

  // What was handed out and not given back: "event 0x1000".
  std::vector<std::string> live() const;
  // What was given back without being out: twice, or never handed out.
  const std::vector<std::string> &wrong_releases() const { return wrong_releases_; }

  // What the unreported handler got while this lived.
  static std::vector<std::string> &unreported();

  // Host functions and callbacks that were launched and not yet run; runs one and forgets it.
  std::vector<std::function<void()>> launched;

  // For FakeEntry, which passes every row: writes the call down. The code that it returns whatever it does,
  // if any; and what it does, null for nothing.
  struct Entered {
    std::optional<CUresult> answer;
    const AnyBehaviour *behaviour;
  };
  Entered enter(int slot, std::string call);
  static Recording &active();

 private:
  template <class Handle>
  Handle acquire(const char *what) {
    const std::uintptr_t handle = next_ += 0x1000;
    ++live_[std::string(what) + " " + detail::hexadecimal(handle)];
    return reinterpret_cast<Handle>(handle);
  }
  void acquire(const std::string &what) { ++live_[what]; }
  CUresult give_back(const std::string &what);
  void behave();

  std::vector<std::string> calls_;
  std::array<std::unique_ptr<const AnyBehaviour>, CUSHIM_TABLE_CAPACITY> behaviours_;
  std::map<int, CUresult> answers_;
  std::map<std::string, int> live_;
  std::vector<std::string> wrong_releases_;
  std::vector<CUcontext> stack_;
  std::uintptr_t next_ = 0;
  int countdown_ = 0;
  CUresult failure_ = CUDA_SUCCESS;
  std::string failed_;
  ScopedDriver scope_;
  UnreportedHandler handler_before_;
};

// The primary context that every device of the recording has, and the context of every stream.
inline const CUcontext kPrimary = reinterpret_cast<CUcontext>(0xc0);
inline const CUcontext kStreamContext = reinterpret_cast<CUcontext>(0xd0);

inline CUstream stream_handle(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }
inline CUevent event_handle(std::uintptr_t number) { return reinterpret_cast<CUevent>(number); }
inline CUcontext context_handle(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }

using Calls = std::vector<std::string>;

// The Error that an action throws; fails the test if it throws none.
Error error_of(const std::function<void()> &action);

}  // namespace cushim::test
