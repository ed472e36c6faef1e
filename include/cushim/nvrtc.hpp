// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA C++ at run time with NVRTC, which is opened with dlopen: a program needs neither its header
// nor its library to build, and starts without it. Not included by <cushim/cushim.hpp>.
//
//   const nvrtc::Loaded loaded = nvrtc::load();
//   if (!loaded) return report(loaded.diagnosis);            // what was tried, and what to do
//   const nvrtc::Compiled code = loaded->compile(source, {.architecture = loaded->architecture_for(device),
//                                                         .name_expressions = {"scale<float>"}});
//   const Module module = Module::load(code.ptx);
//   const Function scale = module.function(code.lowered_names.at("scale<float>"));
#pragma once

#include <cushim/device.hpp>

#include <dlfcn.h>
#include <stdlib.h>  // secure_getenv

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace cushim {
inline namespace v1 {
namespace nvrtc {

// A call of NVRTC that failed. what() has the routine, the result's name, the log and the call site.
class Error : public std::runtime_error {
 public:
  Error(const std::string &what, int result, const std::string &log)
      : std::runtime_error(what), log_(log), result_(result) {}

  // Returns the compiler's log; empty if the program was not compiled.
  const char *log() const noexcept { return log_.what(); }
  // Returns the nvrtcResult; 6 is a compilation error.
  int result() const noexcept { return result_; }

 private:
  std::runtime_error log_;  // because its copies do not throw
  int result_;
};

// A header that a program can include by its name, without a file.
struct Header {
  std::string name;
  std::string text;
};

// Options of one compilation.
struct CompileOptions {
  std::string name = "program.cu";                 // in messages
  std::optional<int> architecture = std::nullopt;  // 90 is compute_90; default: NVRTC's
  std::vector<std::string> options = {};           // of the command line: "--use_fast_math"
  std::vector<Header> headers = {};
  std::vector<std::string> name_expressions = {};  // instances to compile: "scale<float>"
};

// The result of a compilation.
struct Compiled {
  std::string ptx;
  std::string log;                                   // warnings
  std::map<std::string, std::string> lowered_names;  // name expression -> name in the PTX
};

namespace detail {

using Program = struct OpaqueProgram *;

// The functions of NVRTC, declared as its documentation describes them. Results are of the type nvrtcResult.
struct Functions {
  const char *(*nvrtcGetErrorString)(int) = nullptr;
  int (*nvrtcVersion)(int *, int *) = nullptr;
  int (*nvrtcGetNumSupportedArchs)(int *) = nullptr;
  int (*nvrtcGetSupportedArchs)(int *) = nullptr;
  int (*nvrtcCreateProgram)(Program *, const char *, const char *, int, const char *const *,
                            const char *const *) = nullptr;
  int (*nvrtcDestroyProgram)(Program *) = nullptr;
  int (*nvrtcAddNameExpression)(Program, const char *) = nullptr;
  int (*nvrtcCompileProgram)(Program, int, const char *const *) = nullptr;
  int (*nvrtcGetProgramLogSize)(Program, std::size_t *) = nullptr;
  int (*nvrtcGetProgramLog)(Program, char *) = nullptr;
  int (*nvrtcGetPTXSize)(Program, std::size_t *) = nullptr;
  int (*nvrtcGetPTX)(Program, char *) = nullptr;
  int (*nvrtcGetLoweredName)(Program, const char *, const char **) = nullptr;

  // Returns the name of a function that the library lacks; null if it has all. Needs NVRTC 11.2.
  const char *resolve(void *library) {
    const char *missing = nullptr;
    const auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (function == nullptr && missing == nullptr) missing = name;
    };
    find(nvrtcGetErrorString, "nvrtcGetErrorString");
    find(nvrtcVersion, "nvrtcVersion");
    find(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs");
    find(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs");
    find(nvrtcCreateProgram, "nvrtcCreateProgram");
    find(nvrtcDestroyProgram, "nvrtcDestroyProgram");
    find(nvrtcAddNameExpression, "nvrtcAddNameExpression");
    find(nvrtcCompileProgram, "nvrtcCompileProgram");
    find(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
    find(nvrtcGetProgramLog, "nvrtcGetProgramLog");
    find(nvrtcGetPTXSize, "nvrtcGetPTXSize");
    find(nvrtcGetPTX, "nvrtcGetPTX");
    find(nvrtcGetLoweredName, "nvrtcGetLoweredName");
    return missing;
  }
};

}  // namespace detail

struct Loaded;
inline Loaded load(const char *library);

// An opened NVRTC library, which stays open for the life of the process. Copies refer to the same library.
// Threads may compile at the same time.
class Compiler {
 public:
  // Returns the version as the driver writes versions: 13000 is 13.0. NVRTC calls: nvrtcVersion.
  int version(Where where = Where::current()) const {
    int major = 0, minor = 0;
    check(nvrtc_.nvrtcVersion(&major, &minor), "nvrtcVersion", where);
    return major * 1000 + minor * 10;
  }

  // Returns the architectures that NVRTC compiles for, in ascending order: 90 is compute_90. NVRTC calls:
  // nvrtcGetNumSupportedArchs, nvrtcGetSupportedArchs.
  std::vector<int> architectures(Where where = Where::current()) const {
    int count = 0;
    check(nvrtc_.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs", where);
    std::vector<int> all(static_cast<std::size_t>(count));
    check(nvrtc_.nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs", where);
    std::sort(all.begin(), all.end());
    return all;
  }
  // Returns the newest architecture whose code runs on a device; the oldest one if the device is older than
  // all. NVRTC calls: those of architectures(). Driver calls: cuDeviceGetAttribute twice.
  int architecture_for(Device device, Where where = Where::current()) const {
    const int capability = device.attribute(attribute::compute_capability_major, where) * 10 +
                           device.attribute(attribute::compute_capability_minor, where);
    const std::vector<int> all = architectures(where);
    const auto above = std::upper_bound(all.begin(), all.end(), capability);
    return above == all.begin() ? all.at(0) : *std::prev(above);
  }

  // Compiles CUDA C++ to PTX. Throws nvrtc::Error with the log. NVRTC calls: nvrtcCreateProgram,
  // nvrtcAddNameExpression for each, nvrtcCompileProgram, the log, the PTX, nvrtcGetLoweredName for each,
  // nvrtcDestroyProgram.
  Compiled compile(const std::string &source, const CompileOptions &options = {},
                   Where where = Where::current()) const {
    std::vector<const char *> names, texts, arguments;
    for (const Header &header : options.headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    std::string architecture = "--gpu-architecture=compute_";
    if (options.architecture) {
      architecture.append(std::to_string(*options.architecture));
      arguments.push_back(architecture.c_str());
    }
    for (const std::string &option : options.options) arguments.push_back(option.c_str());

    const OwnedProgram program{nvrtc_};
    check(nvrtc_.nvrtcCreateProgram(&program.handle, source.c_str(), options.name.c_str(),
                                    static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram", where);
    for (const std::string &name : options.name_expressions)
      check(nvrtc_.nvrtcAddNameExpression(program.handle, name.c_str()), "nvrtcAddNameExpression", where);
    const int result =
        nvrtc_.nvrtcCompileProgram(program.handle, static_cast<int>(arguments.size()), arguments.data());
    Compiled compiled;
    compiled.log =
        text(program, nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog, "nvrtcGetProgramLog", where);
    check(result, "nvrtcCompileProgram", where, compiled.log);
    compiled.ptx = text(program, nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX, "nvrtcGetPTX", where);
    for (const std::string &name : options.name_expressions) {
      const char *lowered = nullptr;
      check(nvrtc_.nvrtcGetLoweredName(program.handle, name.c_str(), &lowered), "nvrtcGetLoweredName", where);
      compiled.lowered_names[name] = lowered;
    }
    return compiled;
  }

  // Returns the name by which the library was opened.
  const std::string &library() const noexcept { return library_; }

 private:
  friend Loaded load(const char *);
  Compiler(const detail::Functions &nvrtc, std::string library)
      : nvrtc_(nvrtc), library_(std::move(library)) {}

  struct OwnedProgram {
    const detail::Functions &nvrtc;
    mutable detail::Program handle = nullptr;

    explicit OwnedProgram(const detail::Functions &functions) : nvrtc(functions) {}
    OwnedProgram(const OwnedProgram &) = delete;
    OwnedProgram &operator=(const OwnedProgram &) = delete;
    ~OwnedProgram() {
      if (handle != nullptr) nvrtc.nvrtcDestroyProgram(&handle);
    }
  };

  // Returns a text whose size, with its NUL, and bytes two functions return.
  std::string text(const OwnedProgram &program, int (*get_size)(detail::Program, std::size_t *),
                   int (*get)(detail::Program, char *), const char *routine, Where where) const {
    std::size_t size = 0;
    check(get_size(program.handle, &size), routine, where);
    std::string text(size, '\0');
    if (size != 0) check(get(program.handle, text.data()), routine, where);
    text.resize(std::min(text.size(), text.find('\0')));
    return text;
  }

  void check(int result, const char *routine, Where where, const std::string &log = {}) const {
    if (result == 0) return;
    std::string what = routine;
    what.append(": ").append(nvrtc_.nvrtcGetErrorString(result));
    what.append(" (").append(std::to_string(result)).append(")");
    if (!log.empty()) what.append(": ").append(log);
    what.append(" (").append(where.file_name()).append(":").append(std::to_string(where.line())).append(")");
    throw Error(what, result, log);
  }

  detail::Functions nvrtc_;
  std::string library_;
};

// The reason why NVRTC could not be opened.
struct Diagnosis {
  std::string id;      // "no-nvrtc", "not-nvrtc" or "nvrtc-disabled"; empty if there is no error
  std::string what;    // what happened, and each library that was tried with the dynamic linker's message
  std::string advice;  // what to do

  // Returns the diagnosis as one line: "cushim[no-nvrtc]: what. advice".
  std::string text() const { return "cushim[" + id + "]: " + what + ". " + advice; }
};

// The result of load(): a compiler, or the diagnosis of the failure.
struct Loaded {
  std::optional<Compiler> compiler;
  Diagnosis diagnosis;

  explicit operator bool() const noexcept { return compiler.has_value(); }
  const Compiler *operator->() const noexcept { return &*compiler; }
  const Compiler &operator*() const noexcept { return *compiler; }
};

namespace detail {

// The libraries to try: that of the headers' release first, because a newer NVRTC makes PTX that the driver
// may not know.
inline std::vector<std::string> candidates() {
  const std::string own = "libnvrtc.so." + std::to_string(CUDA_VERSION / 1000);
  std::vector<std::string> all;
  if (CUDA_VERSION >= 12000) all.push_back(own);
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                           "/usr/local/cuda/lib64/libnvrtc.so"})
    if (name != own) all.emplace_back(name);
  return all;
}

}  // namespace detail

// Opens NVRTC: `library` if it is not null, else the library that CUSHIM_NVRTC names ("none" for none;
// ignored in setuid programs), else the first that the dynamic linker finds of libnvrtc.so.13, .12, .11.2 and
// libnvrtc.so, that of the CUDA headers in use first, else /usr/local/cuda/lib64/libnvrtc.so. Does not throw.
// Makes no driver call.
inline Loaded load(const char *library = nullptr) {
  const char *const chosen = library != nullptr ? library : ::secure_getenv("CUSHIM_NVRTC");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  if (is_chosen && std::string_view(chosen) == "none")
    return {std::nullopt, {"nvrtc-disabled", "CUSHIM_NVRTC is \"none\"", "Unset it to compile at run time."}};
  const std::vector<std::string> candidates =
      is_chosen ? std::vector<std::string>{chosen} : detail::candidates();
  std::string tried;
  for (const std::string &name : candidates) {
    void *const opened = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      tried.append(tried.empty() ? "" : "; ").append(::dlerror());
      continue;
    }
    detail::Functions functions;
    if (const char *const missing = functions.resolve(opened); missing != nullptr)
      return {std::nullopt,
              {"not-nvrtc", name + " has no function " + missing, "Install NVRTC 11.2 or newer."}};
    return {Compiler(functions, name), {}};
  }
  return {std::nullopt,
          {"no-nvrtc", "NVRTC not found (" + tried + ")",
           "Install it (package cuda-nvrtc, or nvidia-cuda-nvrtc of PyPI), or name the library in "
           "CUSHIM_NVRTC."}};
}

}  // namespace nvrtc
}  // namespace v1
}  // namespace cushim
