// SPDX-License-Identifier: Apache-2.0
// A walk: a program of driver calls, valid and invalid, that is determined by a seed. Later calls may use the
// objects that a call has created, but not after their destruction, which is undefined on the real driver.
// Queries whether work is complete have the same answer on every driver: either a wait on a word that only
// the program writes holds the work, or the work has had time to finish.
#pragma once

#include <cushim/driver.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handles.hpp"
#include "memory_objects.hpp"
#include "values.hpp"

namespace differential {

using cushim::driver;

// One call and the driver's answer.
struct Step {
  std::string symbol;  // the entry point
  std::string call;
  std::string answer;
  // Other statements that a test needs for the call; see as_test().
  std::vector<std::string> before{}, declarations{}, after{};
  unsigned process = 0;  // process number, in walks about processes
};

constexpr std::size_t buffer_bytes = 4096;

// Returns a text that represents the bytes in an answer.
std::string digest(std::span<const unsigned char> bytes);

// The objects of a walk. Each has the context that owns it.
struct Stream {
  CUstream handle = nullptr;
  bool ended_while_held = false;  // its work may still be pending, so the slot is not reused yet
  CUcontext owner = nullptr;
};
struct Event {
  CUevent handle = nullptr;
  bool is_interprocess = false;
  CUcontext owner = nullptr;
  std::optional<unsigned> exported_to{}, opened_from{};  // index in Handles
};
struct Buffer {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CUcontext owner = nullptr;
  std::optional<unsigned> exported_to{}, opened_from{};
};

// The kinds of objects and calls that walks use.
enum class Subject {
  work,       // streams, events and memory, in contexts that are not destroyed
  contexts,   // also creates and destroys contexts and their objects
  kinds,      // memory of all kinds
  processes,  // work in two processes, which open each other's exported objects
  blocks,     // the same, and opens memory that its process has freed
  mappings,   // physical memory, and calls for mappings where no range can be reserved
  mapped,     // reserved ranges, physical memory, mappings
  pools,      // memory pools
  arrays,     // arrays and mipmapped arrays
  managed,    // managed and registered memory, batches
  usage,      // how much memory is free
  kernels,    // modules, libraries, links, launches, occupancy
  captures,   // stream captures
  graphs,     // graphs and executable graphs
};
// Returns whether walks of the subject use only the choices about kernels, captures and graphs.
constexpr bool is_about_graphs(Subject subject) { return subject >= Subject::kernels; }

// The other process of a walk about two processes.
class OtherProcess {
 public:
  virtual ~OtherProcess() = default;
  // Makes a choice there.
  virtual void choose(unsigned choice) = 0;
  // Runs SharedObjects::settle() there.
  virtual std::size_t settle() = 0;
  // Releases the work that the other process holds, and waits for it.
  virtual void release() = 0;
  // Closes everything that the other process has opened.
  virtual void close() = 0;
};

// Returns the name of a memory range, which is that of the buffer that contains it.
std::string name_of(CUdeviceptr address, std::span<const Buffer> b, std::span<unsigned char *const> p);
// Returns a copy from the start of a buffer to 2048 bytes behind it.
CUDA_MEMCPY2D box_within(CUdeviceptr buffer, std::size_t pitch, std::size_t width, std::size_t height);
// Writes the initial contents of a program's pinned memory.
void fill_pinned(unsigned number, unsigned char *bytes);

// The parameters of a walk beside its seed.
struct Kind {
  unsigned calls = 200, choices = 400;  // the walk ends when it reaches either
  Subject subject = Subject::work;
};

// A step that a walk may make next.
struct Choice {
  unsigned weight;
  void (*make)(class Walk &);
  bool may_wait = false;  // waits for held work, so it is not chosen while work is held
};
using Choices = std::vector<Choice>;
inline Choice waiting(unsigned weight, void (*make)(class Walk &)) { return {weight, make, true}; }
inline Choices waiting(Choices choices) {
  for (Choice &choice : choices) choice.may_wait = true;
  return choices;
}

// The objects of a walk. The members have the names that the program's text uses.
class Walk {
 public:
  Walk(std::uint64_t seed, Subject subject, const struct SharedObjects &shared, unsigned process = 0,
       OtherProcess *other = nullptr);
  // Destroys all remaining objects. With two processes, process 0 ends its walk first.
  ~Walk();
  Walk(const Walk &) = delete;
  Walk &operator=(const Walk &) = delete;

  // Makes choices until the number of choices or calls is reached. Leaves out the choices for which `wanted`
  // returns false. Leaving out choices does not change the others, if the objects that they need exist.
  std::vector<Step> run(const Kind &kind, const std::function<bool(unsigned)> &wanted = {});
  // Makes this choice in this process.
  void choose(unsigned choice);
  void add(std::vector<Step> steps) { std::ranges::move(steps, std::back_inserter(steps_)); }
  std::vector<Step> take_steps() { return std::exchange(steps_, {}); }

  Dice dice{0};
  const struct SharedObjects &shared;
  const Subject subject;
  const unsigned process;
  std::array<Stream, 4> s;
  std::array<Event, 5> e;
  std::array<Buffer, 5> b;             // of device memory
  std::array<unsigned char *, 3> p{};  // pinned, of buffer_bytes each
  std::array<CUcontext, 3> m{};        // contexts that the walk has created
  // The objects of walks about one kind of memory.
  std::unique_ptr<MemoryObjects> more = std::make_unique<MemoryObjects>();
  bool primary_is_active = true;
  unsigned held = 0;                            // number of waits in this process's streams
  unsigned held_elsewhere = 0;                  // number of waits in the other process's streams
  Handles handles;                              // equal in both processes
  std::atomic<unsigned> host_functions{0};      // number of host functions that have run
  std::unique_ptr<struct GraphObjects> graphs;  // of walks about kernels, captures and graphs

  // Calls the driver, and records the call and its answer.
  template <class... Values, class Function>
  CUresult call(const char *name, const char *symbol, Function function, Argument<Values>... arguments) {
    note(name, symbol, {arguments.text...}, {arguments.declaration...});
    const CUresult code = function(arguments.value...);
    also_code(code);
    return code;
  }
  // Adds to the answer of the last call. With an expression, a test can check that it has this value.
  void also(const std::string &text, const std::string &expression = "", const std::string &value = "");
  // Makes a call that writes a number, and adds the number to its answer.
  template <class T, class Call>
  void call_for_number(const char *name, const Call &call) {
    Result<T> result(name);
    call(result.argument());
    also_number(result);
  }
  template <class T>
  void also_number(const Result<T> &result) {
    const std::string text = std::to_string(result.value);
    if (result.is_set()) also(text, "std::to_string(" + result.expression() + ")", '"' + text + '"');
  }
  template <class T>
  void also_name(const Result<T> &result) {
    if (!result.is_set()) return;
    const std::string name = name_of(result.value);
    also(name, "name_of(" + result.expression() + ")", '"' + name + '"');
  }
  // Add a statement that is not a call to the program's text: before the next call, or after the last one.
  void does(std::string statement) { before_.push_back(std::move(statement)); }
  void did(std::string statement) { steps_.back().after.push_back(std::move(statement)); }

  // Return streams as arguments: mostly live ones, sometimes default streams, which some calls do not accept.
  Argument<CUstream> a_stream();
  Argument<CUstream> a_live_stream_or_null();
  Argument<CUevent> an_event();
  // Returns a context for a call, sometimes null.
  Argument<CUcontext> a_context();
  // Returns the index of a live buffer; `buffers` if there is none.
  unsigned a_buffer();
  static constexpr unsigned buffers = 5;
  // Returns whether p[k] is registered memory.
  bool is_registered(unsigned k) const;
  // Returns the address at an offset in a buffer, which may be slightly beyond its end.
  Argument<CUdeviceptr> address_in(unsigned buffer, std::size_t offset);
  // Stores the stream for work on a buffer: one stream per buffer, so that no two streams access the same
  // bytes. Returns false if there is none at the moment.
  bool stream_of(unsigned buffer, Argument<CUstream> &stream);
  // Returns the context that executes a stream's work.
  CUcontext owner_of(CUstream stream) const;
  std::string name_of(CUcontext context) const;
  std::string name_of(CUdeviceptr address) const;

  // Record changes of the thread's context stack.
  void has_set(CUcontext context);
  void has_pushed(CUcontext context) { stack_.push_back(context); }
  void has_popped() { stack_.pop_back(); }
  // Returns whether the context is in the thread's context stack, but not current.
  bool is_covered(CUcontext context) const;
  CUcontext current() const { return stack_.empty() ? nullptr : stack_.back(); }
  // Returns the contexts of the shared and of the walk that have not ended.
  std::vector<CUcontext> active_contexts() const;
  // Forgets the objects of a context that has ended.
  void forget_what_went_with(CUcontext context);

  // Returns whether the other process has the object open. It must not be destroyed then, which is undefined
  // on the real driver.
  bool is_open_elsewhere(const Event &event) const { return is_open(handles.event, event); }
  bool is_open_elsewhere(const Buffer &buffer) const { return is_open(handles.memory, buffer); }
  // Records the end of an object: an exported handle becomes invalid, an opened one is open once less.
  void has_ended(Event &event) { end(handles.event, event); }
  void has_ended(Buffer &buffer) { end(handles.memory, buffer); }

  // Frees or closes a buffer with a call that takes its address, sometimes an address inside.
  template <class Call>
  void end_buffer(unsigned k, const Call &call) {
    finish();
    const std::size_t inside = dice.once_in(8) ? 256 : 0;
    if (call(address_in(k, inside)) != CUDA_SUCCESS) return;
    has_ended(b[k]);
    did("b[" + std::to_string(k) + "] = 0");
  }

  // Waits until all work that is not held, in both processes, is complete.
  void settle();
  // The same if there are two processes. For calls that add nothing to a stream if an event is complete:
  // completion takes time to reach the other process.
  void settle_for_the_other() {
    if (other_ != nullptr) settle();
  }
  // Runs SharedObjects::finish(), and records it in the text.
  void finish();
  bool something_is_held() const { return held != 0 || held_elsewhere != 0; }
  // Releases all held work, in both processes, and waits for it.
  void release();
  // The same for the work that this process holds.
  void release_here();
  // Closes everything that the walk has opened.
  void close();

 private:
  void note(const char *name, const char *symbol, const std::vector<std::string> &arguments,
            const std::vector<std::string> &declarations);
  void also_code(CUresult code);
  // Makes the current context the owner of new objects.
  void give_to_current();
  template <class Places, class Thing>
  static bool is_open(const Places &places, const Thing &thing) {
    return thing.exported_to && places[*thing.exported_to].opened != 0;
  }
  template <class Places, class Thing>
  static void end(Places &places, Thing &thing) {
    if (thing.exported_to) {
      places[*thing.exported_to].is_taken = false;
      places[*thing.exported_to].is_stale = true;
    }
    if (thing.opened_from) --places[*thing.opened_from].opened;
    thing = {};
  }

  std::uint64_t seed_;
  OtherProcess *other_;
  Choices choices_;
  unsigned weights_;
  std::vector<CUcontext> stack_;
  std::array<CUcontext, 3> owners_of_pinned_{};
  std::vector<Step> steps_;
  std::vector<std::string> before_;
};

// Returns a function that waits for this time, for a driver that does not report the state of its work.
std::function<std::size_t()> time_to_settle(std::uint64_t microseconds);

// The objects that all walks of a process share. Creating them takes 0.1 s and more on the real driver.
struct SharedObjects {
  // `settle` lets a driver finish all work that is not held, and returns the number of unfinished operations;
  // not 0 if that is unknown.
  explicit SharedObjects(std::function<std::size_t()> settle);
  // Makes c[0] the only context in the thread's stack.
  void begin() const;
  // Waits until all work of these contexts is complete. No work may be held.
  void finish(std::span<const CUcontext> contexts) const;
  // Releases the waits on the first `held` words.
  void let_go(unsigned held) const;
  // The same, and waits until all work is complete.
  void release(unsigned held, std::span<const CUcontext> contexts) const;
  // Writes the initial contents of b[number], in the current context.
  void fill(unsigned number, const Buffer &buffer, std::span<const CUcontext> contexts) const;
  // Returns the contexts of the shared and of a program that have not ended.
  std::vector<CUcontext> active(bool primary_is_active, std::span<const CUcontext> made) const;
  // Returns a name such as "c[0]" or "m[1]".
  std::string name_of(CUcontext context, std::span<const CUcontext> made) const;

  // Returns memory of the process for p[k].
  unsigned char *pages(unsigned k) const;

  CUdevice device = 0;
  CUmemoryPool pool = nullptr;   // the device's default pool
  CUdeviceptr area = 0;          // reserved addresses, 1 GiB
  std::array<CUcontext, 2> c{};  // the primary context and another
  // Words for waits, and their device address. They belong to their own context, which exists as long as the
  // shared.
  std::uint32_t *words = nullptr;
  CUdeviceptr words_on_device = 0;
  std::function<std::size_t()> settle;
  std::function<void(const Step &)>
      watcher{};           // is called before each call, with the answer of the last call
  bool is_traced = false;  // prints each call before it is made, for calls that do not return
};

// CALL(walk, cuX, arguments): makes a call by its name in cuda.h. At most one argument may use the dice,
// because the order of evaluation is up to the compiler.
#define CALL(walk, function, ...)                                            \
  (walk).call(#function, DIFFERENTIAL_SYMBOL(function), [](auto... values) { \
    return ::cushim::driver().function(values...);                           \
  } __VA_OPT__(, ) __VA_ARGS__)
#define DIFFERENTIAL_SYMBOL(function) #function

}  // namespace differential
