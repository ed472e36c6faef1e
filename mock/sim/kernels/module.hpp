// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, and the functions and kernels in them.
#pragma once

#include <cushim/ptx/execute.hpp>
#include <cushim/ptx/module.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/jit_options.hpp"
#include "memory/memory.hpp"
#include "objects/handle.hpp"

namespace cushim::sim {

struct System;

// A parsed image. Immutable, so that the modules of a library share it.
struct Code {
  ptx::Module module;
  // In source order; of code with debug information the last comes first. Measured, driver 580.
  std::vector<const ptx::Function *> entries;
  std::unordered_map<std::string_view, const ptx::Function *> entry_by_name;
  std::unordered_map<std::string_view, const ptx::Variable *> variable_by_name;
  std::vector<const ptx::Variable *> references;    // to textures and surfaces
  unsigned max_registers = 0;                       // of a thread, as a compiler's option says; 0: no limit
  unsigned ptx_target = 0;                          // of linked code the oldest of its inputs': 52 for sm_52
  std::optional<int> compiled_for;                  // CU_JIT_TARGET, if the options set it: 90 for 9.0
  bool is_machine_code = false;                     // whether the image is a cubin without PTX
  std::vector<std::string> names;                   // only of machine code: all functions
  std::set<std::string, std::less<>> unregistered;  // only of machine code: functions that cannot run
};

// Returns a device's compute capability: 90 for 9.0.
int capability(const Device &device);

// The reason why an image cannot be loaded on a device of this driver.
struct LoadError {
  CUresult code = CUDA_SUCCESS;
  std::string log;  // formatted as by the driver's compiler
};

// Parses an image, and notes the errors of the compiler in the system. Of a cubin, that is the PTX in the
// machine's store, else the registered kernels. Returns null on failure, and sets `error`. For `size`, see
// read_image(). Of the options, uses the limit of registers, for PTX only.
std::shared_ptr<const Code> load_code(System &system, const Device &device, const void *image,
                                      std::optional<std::size_t> size, const JitOptions &options,
                                      LoadError &error);
// The same for code that will not be linked, so that the use of an undefined function is an error.
std::shared_ptr<const Code> load_complete_code(System &system, const Device &device, const void *image,
                                               std::optional<std::size_t> size, const JitOptions &options,
                                               LoadError &error);

// Returns the functions that a module uses and does not define, in the order of their first use, without
// those of the driver (vprintf).
std::vector<std::string> undefined_functions(const ptx::Module &module);
// Returns those of them that a kernel or a variable of the module can reach.
std::vector<std::string> reachable_undefined_functions(const ptx::Module &module);
// Returns an error if the code uses an undefined function, as only code that will be linked may.
LoadError check_complete(const Code &code);
// Returns an error if the code was compiled for another device.
LoadError check_device(const Code &code, const Device &device);

struct Module;

// Attributes that the program has set, by CUfunction_attribute; others have their default.
using FunctionAttributes = std::map<int, int>;

// A kernel in one context (CUfunction).
struct Function : ObjectOf<Kind::function> {
  Module *module = nullptr;
  const ptx::Function *entry = nullptr;
  std::string name;
  FunctionAttributes set;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  // Attributes that the program has set for this function and not for its kernel, which then does not change
  // them. Measured, driver 580.
  std::set<int> own;
  bool has_own_cache = false;
  // Set by cuFuncSetBlockShape, cuFuncSetSharedSize and cuParamSet* of the first releases, for cuLaunch.
  ptx::Dim3 block;
  unsigned dynamic_shared = 0;
  std::vector<std::byte> parameters;
};

struct Global {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  bool is_managed = false;
};

struct Library;
struct SurfaceReference;
struct TextureReference;

// Code in one context (CUmodule).
struct Module : ObjectOf<Kind::module> {
  Context *context = nullptr;
  Library *library = nullptr;  // the library that it belongs to; null if the program loaded it directly
  std::shared_ptr<const Code> code;
  ptx::Program program;
  ptx::Program sampled;  // with costs; empty unless Options::models_kernel_times
  std::map<std::string, Global, std::less<>> globals;
  std::map<std::string, Function *, std::less<>> functions;  // those that the program has looked up
  std::map<std::string, TextureReference *, std::less<>> texture_references;
  std::map<std::string, SurfaceReference *, std::less<>> surface_references;
};

// A kernel without a context (CUkernel).
struct Kernel : ObjectOf<Kind::kernel> {
  Library *library = nullptr;
  const ptx::Function *entry = nullptr;
  std::string name;
  // By the device's index.
  std::map<int, FunctionAttributes> set;
  std::map<int, CUfunc_cache> cache;
};

// Code without a context (CUlibrary).
struct Library : ObjectOf<Kind::library> {
  std::shared_ptr<const Code> code;  // null if the image could not be loaded
  LoadError error;                   // the reason, if `code` is null
  std::map<Context *, Module *> modules;
  std::map<std::string, Kernel *, std::less<>> kernels;
};

// PTX inputs that are linked into one image (CUlinkState).
struct Link : ObjectOf<Kind::link> {
  // A function that an input uses and does not define.
  struct Reference {
    std::string function;
    std::string input;  // the input's name
  };

  Context *context = nullptr;
  JitOptions options;
  JitOptions::LogSizes log_sizes;
  std::string error_log, info_log;
  std::string text;                 // of the inputs
  std::uint32_t oldest_target = 0;  // of the inputs
  std::string image;                // the result
  std::vector<Reference> references;
  std::map<std::string, std::string, std::less<>> definitions;  // visible names, with their inputs
  std::set<std::string, std::less<>> machine_functions;         // of inputs that have no PTX
  CUresult failure = CUDA_SUCCESS;  // of an input after which the link cannot succeed
  bool is_complete = false;
};

// Loads complete code into a context: allocates and initializes its variables, and decodes its functions.
// Returns null on failure, and sets `error`.
Module *make_module(System &system, Context &context, std::shared_ptr<const Code> code, LoadError &error);
// Destroys a module with its functions, and its variables unless the end of the context has freed them. Does
// not wait for work that uses them.
void destroy_module(System &system, Module &module);

// Returns the function with this name; null if there is none.
Function *function_of(System &system, Module &module, std::string_view name);
// Returns the error of asking for a kernel that the code does not have: NOT_FOUND. NO_BINARY_FOR_GPU, with a
// report, if it is in a cubin and not registered.
CUresult error_of_missing(System &system, const Code &code, std::string_view name);

// ---- Resources of a kernel on a device ----

int max_dynamic_shared(const Function &function);  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
// Returns the value of a CUfunction_attribute in `value`. False for an unknown attribute.
bool attribute_of(const ptx::Function &entry, const Code &code, const Device &device,
                  const FunctionAttributes &set, int attribute, int &value);
// Returns CUDA_SUCCESS if the program may set the attribute to this value, else the error.
CUresult check_attribute(const ptx::Function &entry, const Device &device, int attribute, int value);

// Returns the bytes of static shared memory of a block.
std::size_t static_shared(const ptx::Function &entry);
unsigned max_threads(const ptx::Function &entry);
// How shared_capacity() uses CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT of the function. `counts`:
// any value counts. `only_none`: only the value 0 (no shared memory) counts.
enum class Carveout { counts, only_none };
// Returns the bytes of shared memory of a multiprocessor, which it divides from the L1 cache as the program
// prefers: as many as a block of `of_block` bytes needs, or more. Measured on an H200, driver 580.
std::size_t shared_capacity(const Function &function, std::size_t of_block,
                            Carveout carveout = Carveout::counts);
// Returns the number of blocks of this size that one multiprocessor of the function's device holds at once; 0
// if `threads` or `dynamic_shared` exceeds the function's limit. Measured on an H200, driver 580.
int resident_blocks(const Function &function, int threads, std::size_t dynamic_shared,
                    Carveout carveout = Carveout::counts);

}  // namespace cushim::sim
