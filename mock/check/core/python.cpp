// SPDX-License-Identifier: Apache-2.0
#include "core/python.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string_view>

namespace cushim::check::python {
namespace {

// The functions of CPython's C API (docs.python.org/3/c-api) that are used here, without its headers. The
// comments name the function and the ownership of the result.
struct Api {
  void *(*this_thread)();                    // PyGILState_GetThisThreadState: needs no lock
  void (*dump)(int file, void *thread);      // writes the stack of a thread; needs no lock
  int (*has_lock)();                         // PyGILState_Check
  void *(*frame)();                          // PyEval_GetFrame: borrowed reference
  void *(*caller)(void *frame);              // PyFrame_GetBack: new reference
  void *(*code)(void *frame);                // PyFrame_GetCode: new reference
  int (*line)(void *frame);                  // PyFrame_GetLineNumber
  void *(*attribute)(void *, const char *);  // PyObject_GetAttrString: new reference
  const char *(*utf8)(void *text);           // PyUnicode_AsUTF8: owned by the object
  void (*incref)(void *);
  void (*decref)(void *);
  void (*fetch)(void **type, void **value, void **trace);
  void (*restore)(void *type, void *value, void *trace);

  bool can_read_frames() const noexcept {
    return has_lock != nullptr && frame != nullptr && caller != nullptr && code != nullptr &&
           line != nullptr && attribute != nullptr && utf8 != nullptr && incref != nullptr &&
           decref != nullptr && fetch != nullptr && restore != nullptr;
  }
};

Api api{};
std::atomic<bool> has_api{false};

template <class Function>
void find(Function &function, const char *symbol) noexcept {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, symbol));
}

// A non-blocking pipe: output beyond its capacity is lost.
class Pipe {
 public:
  Pipe() noexcept {
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  bool is_open() const noexcept { return ends_[0] >= 0; }
  int input() const noexcept { return ends_[1]; }
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t size = 0; (size = read(ends_[0], part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(size));
    return text;
  }

 private:
  std::array<int, 2> ends_{};
};

std::string function_text(std::string_view function, std::string_view file, std::string_view line) {
  return std::string(function) + " (" + std::string(file) + ":" + std::string(line) + ")";
}

// Parses a line of the dump, `  File "/srv/train.py", line 12 in load`; empty for any other line.
std::string function_in(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kName = " in ";
  if (!line.starts_with(kFile)) return "";
  line.remove_prefix(kFile.size());
  const std::size_t number = line.rfind(kLine);
  if (number == line.npos) return "";
  const std::string_view file = line.substr(0, number);
  line.remove_prefix(number + kLine.size());
  const std::size_t name = line.find(kName);
  if (name == line.npos) return "";
  return function_text(line.substr(name + kName.size()), file, line.substr(0, name));
}

Stack dumped(void *thread, std::size_t count) {
  const Pipe pipe;
  if (!pipe.is_open()) return {.functions = {}, .is_exact = false};
  api.dump(pipe.input(), thread);
  const std::string text = pipe.read_all();
  Stack stack;
  std::string_view rest = text;
  for (std::size_t end = 0; stack.functions.size() < count && (end = rest.find('\n')) != rest.npos;
       rest.remove_prefix(end + 1))
    if (std::string function = function_in(rest.substr(0, end)); !function.empty())
      stack.functions.push_back(std::move(function));
  return stack;
}

std::string attribute_of(void *object, const char *name) {
  void *const value = api.attribute(object, name);
  const char *const text = value == nullptr ? nullptr : api.utf8(value);
  const std::string copy = text == nullptr ? "?" : text;
  if (value != nullptr) api.decref(value);
  return copy;
}

// Reads the stack while the thread holds the GIL. Preserves a pending exception.
Stack read(std::size_t count) {
  void *type = nullptr, *value = nullptr, *trace = nullptr;
  api.fetch(&type, &value, &trace);
  Stack stack;
  void *frame = api.frame();
  if (frame != nullptr) api.incref(frame);
  while (frame != nullptr) {
    if (stack.functions.size() < count) {
      void *const code = api.code(frame);
      stack.functions.push_back(function_text(
          attribute_of(code, "co_name"), attribute_of(code, "co_filename"), std::to_string(api.line(frame))));
      api.decref(code);
    }
    void *const inner = frame;
    frame = stack.functions.size() < count ? api.caller(frame) : nullptr;
    api.decref(inner);
  }
  api.restore(type, value, trace);
  return stack;
}

}  // namespace

void look() noexcept {
  if (is_there() || dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState") == nullptr) return;
  static std::once_flag once;
  std::call_once(once, [] {
    find(api.this_thread, "PyGILState_GetThisThreadState");
    find(api.dump, "PyUnstable_DumpTraceback");
    if (api.dump == nullptr) find(api.dump, "_Py_DumpTraceback");
    find(api.has_lock, "PyGILState_Check");
    find(api.frame, "PyEval_GetFrame");
    find(api.caller, "PyFrame_GetBack");
    find(api.code, "PyFrame_GetCode");
    find(api.line, "PyFrame_GetLineNumber");
    find(api.attribute, "PyObject_GetAttrString");
    find(api.utf8, "PyUnicode_AsUTF8");
    find(api.incref, "Py_IncRef");
    find(api.decref, "Py_DecRef");
    find(api.fetch, "PyErr_Fetch");
    find(api.restore, "PyErr_Restore");
    has_api.store(true, std::memory_order_release);
  });
}

bool is_there() noexcept { return has_api.load(std::memory_order_acquire); }

Stack stack(std::size_t count) {
  void *const thread = api.this_thread();
  if (thread == nullptr) return {};
  const int kept_errno = errno;
  Stack stack{.functions = {}, .is_exact = false};
  if (api.dump != nullptr)
    stack = dumped(thread, count);
  else if (api.can_read_frames() && api.has_lock() != 0)
    stack = read(count);
  errno = kept_errno;
  return stack;
}

}  // namespace cushim::check::python
