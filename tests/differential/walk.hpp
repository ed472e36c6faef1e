// SPDX-License-Identifier: Apache-2.0
// A walk: a program of driver calls, legal and illegal mixed, that a seed determines. What a call has made
// may be used by later ones; nothing is used after its end, which the real driver leaves undefined. Calls
// that ask whether work is complete get the same answer on every driver: work is either held back by a wait
// on a word that only the program writes, or has had time to finish.
#pragma once

#include <cushim/driver.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace differential {

using cushim::driver;

// Random numbers that are the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // One of 0 to n - 1.
  unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }
  bool once_in(unsigned n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<unsigned>(values.size()))];
  }

 private:
  std::uint64_t state_;
};

// A value and what stands for it in the program's text.
template <class T>
struct Argument {
  T value;
  std::string text;
  std::string declaration{};  // of the variable that the text names, if the call alone uses it
};
template <class T>
Argument(T, std::string, std::string = {}) -> Argument<T>;

Argument<std::nullptr_t> null();
Argument<unsigned> number(unsigned value);
Argument<int> integer(int value);
Argument<std::size_t> bytes(std::size_t value);
// An address where no memory is.
Argument<CUdeviceptr> nowhere_at(CUdeviceptr address);

// A type's name, as C++ spells it.
std::string spelling_of(const std::type_info &type);

// A variable that a call may set. Its bytes are not zero before, so that an answer also shows whether a call
// that failed has written to it.
template <class T>
class Result {
 public:
  explicit Result(std::string name) : name_(std::move(name)), expression_(name_) {
    std::memset(&value, 0x5a, sizeof value);
  }
  Argument<T *> argument() { return {&value, "&" + name_, spelling_of(typeid(T)) + " " + name_ + "{}"}; }
  // Bits that are not compared.
  void leave_out(T bits, const std::string &text) {
    if (!is_set()) return;
    value &= static_cast<T>(~bits);
    expression_ = "(" + name_ + " & ~" + text + ")";
  }
  const std::string &expression() const { return expression_; }
  bool is_set() const {
    T untouched;
    std::memset(&untouched, 0x5a, sizeof untouched);
    return std::memcmp(&value, &untouched, sizeof value) != 0;
  }
  T value;

 private:
  std::string name_, expression_;
};

// One call and what the driver said.
struct Step {
  std::string symbol;  // the entry point
  std::string call;
  std::string answer;
  // What else a test needs that makes the call; see as_test().
  std::vector<std::string> before{}, declarations{}, after{};
  unsigned process = 0;  // of two, in walks about processes
};

constexpr std::size_t buffer_bytes = 4096;

// What stands for the bytes in an answer.
std::string digest(std::span<const unsigned char> bytes);

// All of them know the context that they go with.
struct Stream {
  CUstream handle = nullptr;
  bool ended_while_held = false;  // its work may still be there, so nothing takes its place yet
  CUcontext owner = nullptr;
};
struct Event {
  CUevent handle = nullptr;
  bool is_interprocess = false;
  CUcontext owner = nullptr;
  std::optional<unsigned> exported_to{}, opened_from{};  // the place in Handles
};
struct Buffer {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CUcontext owner = nullptr;
  std::optional<unsigned> exported_to{}, opened_from{};
};

// What walks are about.
enum class Subject {
  work,       // streams, events and memory, in contexts that last
  contexts,   // contexts come and go, too, and with them what they have
  kinds,      // memory is of all kinds
  processes,  // work in two processes, which open what the other has exported
};

// What two processes have exported to each other and not ended.
struct Handles {
  template <class Handle>
  struct Place {
    Handle handle{};
    bool is_taken = false;
    unsigned opened = 0;    // how often the other one has it open
    std::size_t bytes = 0;  // of memory
  };
  static constexpr unsigned places = 3;
  std::array<Place<CUipcEventHandle>, places> event;
  std::array<Place<CUipcMemHandle>, places> memory;
};

// The other process of a walk about two.
class OtherProcess {
 public:
  virtual ~OtherProcess() = default;
  // Has it make a choice.
  virtual void choose(unsigned choice) = 0;
  // Bench::settle() there.
  virtual std::size_t settle() = 0;
  // Has it let go on what it holds, and wait for that.
  virtual void release() = 0;
  // Has it close all that it has opened.
  virtual void close() = 0;
};

// A stretch of memory by the buffer that it lies in, which addresses of a program are called by.
std::string name_of(CUdeviceptr address, std::span<const Buffer> b, std::span<unsigned char *const> p);
// From the start of a buffer to 2048 bytes behind it.
CUDA_MEMCPY2D box_within(CUdeviceptr buffer, std::size_t pitch, std::size_t width, std::size_t height);
// What pinned memory of a program holds at first.
void fill_pinned(unsigned number, unsigned char *bytes);

// What determines a walk beside its seed.
struct Kind {
  unsigned calls = 200, choices = 400;  // it ends with the first that is reached
  Subject subject = Subject::work;
};

// Something that a walk may do next.
struct Choice {
  unsigned weight;
  bool may_wait;  // for work that is held back: not chosen while some is
  void (*make)(class Walk &);
};

// What a walk has made and holds. The members bear the names that the program's text uses.
class Walk {
 public:
  Walk(std::uint64_t seed, Subject subject, const struct Bench &bench, unsigned process = 0,
       OtherProcess *other = nullptr);
  // Ends all that is left. Of two processes, process 0 ends its walk first.
  ~Walk();
  Walk(const Walk &) = delete;
  Walk &operator=(const Walk &) = delete;

  // Makes choices until there are enough of them or of calls; leaves out those that `wanted` does not want. A
  // choice is the same whether or not others are left out, as far as what it needs is there.
  std::vector<Step> run(const Kind &kind, const std::function<bool(unsigned)> &wanted = {});
  // Makes this choice, in this process.
  void choose(unsigned choice);
  void add(std::vector<Step> steps) { std::ranges::move(steps, std::back_inserter(steps_)); }
  std::vector<Step> take_steps() { return std::exchange(steps_, {}); }

  Dice dice{0};
  const struct Bench &bench;
  const Subject subject;
  const unsigned process;
  std::array<Stream, 4> s;
  std::array<Event, 5> e;
  std::array<Buffer, 5> b;             // of device memory
  std::array<unsigned char *, 3> p{};  // pinned, of buffer_bytes each
  std::array<CUcontext, 3> m{};        // contexts that it has made
  bool primary_is_active = true;
  unsigned held = 0;                        // how many waits are in streams
  unsigned held_elsewhere = 0;              // and in those of the other process
  Handles handles;                          // both processes know the same
  std::atomic<unsigned> host_functions{0};  // how many have run

  // Calls the driver, and notes the call and its answer.
  template <class... Values, class Function>
  CUresult call(const char *name, const char *symbol, Function function, Argument<Values>... arguments) {
    note(name, symbol, {arguments.text...}, {arguments.declaration...});
    const CUresult code = function(arguments.value...);
    also_code(code);
    return code;
  }
  // Adds to the answer of the last call; if there is an expression, a test can check that it has this value.
  void also(const std::string &text, const std::string &expression = "", const std::string &value = "");
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
  // Says what the walk does beside its calls, as a statement: before the next one, or because of the last.
  void does(std::string statement) { before_.push_back(std::move(statement)); }
  void did(std::string statement) { steps_.back().after.push_back(std::move(statement)); }

  // Streams as arguments: mostly live ones, also those that are always there; in some calls of no use.
  Argument<CUstream> a_stream();
  Argument<CUstream> a_live_stream_or_null();
  Argument<CUevent> an_event();
  // What may go into a call as a context.
  Argument<CUcontext> a_context();
  // A live buffer's number; or buffers, which says that there is none.
  unsigned a_buffer();
  static constexpr unsigned buffers = 5;
  // Whether p[k] is memory that was registered.
  bool is_registered(unsigned k) const;
  // Somewhere in a buffer, or past its end by a little.
  Argument<CUdeviceptr> address_in(unsigned buffer, std::size_t offset);
  // The stream that work on a buffer goes through: one stream a buffer, so that no two touch the same bytes.
  // False if there is none just now.
  bool stream_of(unsigned buffer, Argument<CUstream> &stream);
  // The context that a stream's work is done in.
  CUcontext owner_of(CUstream stream) const;
  std::string name_of(CUcontext context) const;
  std::string name_of(CUdeviceptr address) const;

  // The contexts of the thread are these from now on.
  void has_set(CUcontext context);
  void has_pushed(CUcontext context) { stack_.push_back(context); }
  void has_popped() { stack_.pop_back(); }
  // Whether it is among the thread's contexts, but not the current one.
  bool is_covered(CUcontext context) const;
  CUcontext current() const { return stack_.empty() ? nullptr : stack_.back(); }
  // The bench's and those of the walk, but for what has ended.
  std::vector<CUcontext> active_contexts() const;
  // What went with a context that has ended is not used any more.
  void forget_what_went_with(CUcontext context);

  // Whether the other process has it open. Then it must not end, which the real driver leaves undefined.
  bool is_open_elsewhere(const Event &event) const { return is_open(handles.event, event); }
  bool is_open_elsewhere(const Buffer &buffer) const { return is_open(handles.memory, buffer); }
  // Nobody opens it any more; or it is open once less.
  void has_ended(Event &event) { end(handles.event, event); }
  void has_ended(Buffer &buffer) { end(handles.memory, buffer); }

  // All work that nothing holds back, in both processes, is complete afterwards.
  void settle();
  // The same if there are two processes, for calls that put nothing into a stream if an event is complete:
  // between processes that takes time.
  void settle_for_the_other() {
    if (other_ != nullptr) settle();
  }
  // As of the bench, and said.
  void finish();
  bool something_is_held() const { return held != 0 || held_elsewhere != 0; }
  // Lets everything go on, in both processes, and waits for it.
  void release();
  // The same for what this process holds.
  void release_here();
  // Closes all that it has opened.
  void close();

 private:
  void note(const char *name, const char *symbol, const std::vector<std::string> &arguments,
            const std::vector<std::string> &declarations);
  void also_code(CUresult code) { steps_.back().answer = std::to_string(static_cast<int>(code)); }
  // Whatever is new goes with the current context.
  void give_to_current();
  template <class Places, class Thing>
  static bool is_open(const Places &places, const Thing &thing) {
    return thing.exported_to && places[*thing.exported_to].opened != 0;
  }
  template <class Places, class Thing>
  static void end(Places &places, Thing &thing) {
    if (thing.exported_to) places[*thing.exported_to] = {};
    if (thing.opened_from) --places[*thing.opened_from].opened;
    thing = {};
  }

  std::uint64_t seed_;
  OtherProcess *other_;
  std::vector<Choice> choices_;
  unsigned weights_;
  std::vector<CUcontext> stack_;
  std::array<CUcontext, 3> owners_of_pinned_{};
  std::vector<Step> steps_;
  std::vector<std::string> before_;
};

// Time for a device whose driver does not tell what it has done: what could tell is asked next.
std::function<std::size_t()> time_to_settle(std::uint64_t microseconds);

// What lasts over all walks of a process: making it costs the real driver a tenth of a second and more.
struct Bench {
  // The function gives a driver what it needs to do all work that nothing holds back, and says how much is
  // left then; not 0 if that is not known.
  explicit Bench(std::function<std::size_t()> settle);
  // The first context is the thread's only one afterwards.
  void begin() const;
  // All work of these contexts is complete afterwards; nothing may be held.
  void finish(std::span<const CUcontext> contexts) const;
  // Lets waits go on that look at this many words.
  void let_go(unsigned held) const;
  // And waits until all work is complete.
  void release(unsigned held, std::span<const CUcontext> contexts) const;
  // New memory of the b[number] of a program gets its first bytes, in the current context.
  void fill(unsigned number, const Buffer &buffer, std::span<const CUcontext> contexts) const;
  // All of its own and of those that a program has made, but for what has ended.
  std::vector<CUcontext> active(bool primary_is_active, std::span<const CUcontext> made) const;
  // "c[0]", "m[1]"
  std::string name_of(CUcontext context, std::span<const CUcontext> made) const;

  // Memory of the process, for p[k].
  unsigned char *pages(unsigned k) const;

  CUdevice device = 0;
  CUmemoryPool pool = nullptr;   // the device's default pool
  std::array<CUcontext, 2> c{};  // the primary context and another
  // Words for waits, which the device sees at this address. They lie in a context of their own, which lasts.
  std::uint32_t *words = nullptr;
  CUdeviceptr words_on_device = 0;
  std::function<std::size_t()> settle;
  bool is_traced = false;  // says each call before it is made, for a driver that does not come back
};

std::vector<Choice> context_choices();
std::vector<Choice> life_choices();  // for walks about contexts only
std::vector<Choice> kind_choices();  // for walks about kinds of memory only
std::vector<Choice> ipc_choices();   // for walks about processes only
std::vector<Choice> stream_choices();
std::vector<Choice> event_choices();
std::vector<Choice> memory_choices();
std::vector<Choice> copy_choices();
std::vector<Choice> memop_choices();

// CALL(walk, cuX, arguments): the call by its name as cuda.h spells it. At most one argument throws the dice:
// the compiler chooses the order in which arguments are made.
#define CALL(walk, function, ...)                                            \
  (walk).call(#function, DIFFERENTIAL_SYMBOL(function), [](auto... values) { \
    return ::cushim::driver().function(values...);                           \
  } __VA_OPT__(, ) __VA_ARGS__)
#define DIFFERENTIAL_SYMBOL(function) #function

}  // namespace differential
