// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cushim/ptx/checks.hpp"
#include "cushim/ptx/counts.hpp"
#include "cushim/ptx/module.hpp"
#include "cushim/ptx/textures.hpp"

// Executes the kernels of a parsed PTX module on the CPU. Independent of any driver.
namespace cushim::ptx {

// The host memory at a device address. The `bytes` bytes from `host` on, and the `before` bytes in front of
// it, may be accessed in the same way for the rest of the launch. A null `host` means that the address is
// illegal.
struct Resolved {
  std::byte *host = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t before = 0;
};

// The global memory of a launch. All workers call it concurrently.
class Memory {
 public:
  virtual ~Memory() = default;
  // Returns the host memory of a global or generic address.
  virtual Resolved resolve(std::uint64_t address, std::uint64_t bytes, Access) = 0;
  // Returns the host memory of these bytes in each memory that is bound to a multicast object, for multimem
  // instructions. It may be accessed for the rest of the launch. Empty: the address is illegal. The default
  // has no multicast objects.
  virtual std::vector<std::byte *> multicast(std::uint64_t address, std::uint64_t bytes, Access);
  // malloc() and free() of kernels. The defaults have no heap and return 0, as a GPU whose heap is full.
  virtual std::uint64_t allocate(std::uint64_t bytes);
  virtual void release(std::uint64_t address);
  // Return the texture or surface with this handle, which lives until the end of the launch; null if there is
  // none. The defaults have none.
  virtual const Texture *texture(std::uint64_t handle);
  virtual const Surface *surface(std::uint64_t handle);
  // cudaGraphSetConditional() of kernels. Returns false, which is a fault of the kernel, if there is no such
  // handle. The default knows no handles.
  virtual bool set_conditional(std::uint64_t handle, std::uint32_t value);
  // For Check::init: whether one of these bytes was never written, and that they are written now. The
  // defaults know no such bytes.
  virtual bool is_unwritten(std::uint64_t address, std::uint64_t bytes);
  virtual void note_written(std::uint64_t address, std::uint64_t bytes);
};

// Returns whether the executor implements a function that a module may declare without a body, as vprintf.
bool implements(std::string_view function);

// Generic addresses of the shared and local memory of the executing thread. No global address may be at or
// above them. The shared memory of the executing thread's block begins at shared_window, and that of the
// block with rank N in the cluster at shared_window + (N + 1) * cluster_block_bytes.
inline constexpr std::uint64_t shared_window = 1ull << 48;
inline constexpr std::uint64_t cluster_block_bytes = 1ull << 24;
inline constexpr std::uint64_t local_window = (1ull << 48) + (1ull << 32);
inline constexpr std::uint64_t parameter_window = (1ull << 48) + (2ull << 32);
// The address of function N of a module is code_window + 16 * N. Initializers that refer to a function
// contain it.
inline constexpr std::uint64_t code_window = 1ull << 50;

// The dimensions of a launch, and its dynamic shared memory.
struct LaunchShape {
  Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared_bytes = 0;
  // The address of the workspace of a cooperative launch; 0 for other launches. The workspace is two words of
  // global memory, a size and the barrier of the grid: see cooperative_groups/details/driver_abi.h of the
  // CUDA headers. A kernel reads the upper half of the address from %envreg1, the lower half from %envreg2.
  std::uint64_t grid_workspace = 0;
};

// The host resources that a launch may use.
struct Limits {
  unsigned workers = 0;                     // threads that run blocks; 0: one per core; 1: blocks in order
  std::uint64_t instructions = 0;           // of all warps together, then a fault; 0: no limit
  std::uint32_t stack_bytes = 1024;         // per thread, in addition to the kernel's own local variables
  std::uint64_t resident_bytes = 1u << 30;  // of blocks that wait for each other
};

// Why a launch ended early.
enum class FaultKind {
  none,
  illegal_address,
  misaligned_address,
  illegal_instruction,
  trap,
  assertion,
  stack_overflow,
  instruction_budget,
};

// Returns the name of a fault for messages.
std::string_view name(FaultKind);

// The first fault of a launch, and where it occurred.
struct Fault : ThreadPosition {
  FaultKind kind = FaultKind::none;
  std::uint64_t address = 0;  // of the access that faulted
  std::string message;        // of a failed assertion
};

struct Sample;        // cushim/ptx/costs.hpp
struct SampledCosts;  // the same

// The result of a launch.
struct LaunchResult {
  Fault fault;  // kind none: success
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  // lanes that were active, summed over the warp instructions
  Counts counts{};                        // empty unless the program was compiled with CompileOptions::counts
  std::shared_ptr<const SampledCosts> costs{};  // null without a sample
  explicit operator bool() const { return fault.kind == FaultKind::none; }
};

// Addresses of a module's global and constant variables, and handles of its texture and surface references,
// by name. Functions need no entry.
using SymbolAddresses = std::unordered_map<std::string, std::uint64_t>;

struct Code;  // decoded operations

// The resources that a kernel needs.
struct KernelInfo {
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t registers = 0;
};

// A module, decoded for execution. Immutable; may run on several threads at once.
class Program {
 public:
  Program() = default;
  explicit Program(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  explicit operator bool() const { return code_ != nullptr; }
  const Code &code() const { return *code_; }
  // Returns nullptr if there is no such kernel.
  const KernelInfo *kernel(std::string_view name) const;

 private:
  std::shared_ptr<const Code> code_;
};

// How compile() decodes a module.
struct CompileOptions {
  bool counts = false;  // count what each instruction does; programs without counts run no slower for it
  bool costs = false;   // also sum what the cost model of cushim/ptx/costs.hpp needs; implies counts
};

// Decodes every function of a module. Returns an empty program, and appends to `diagnostics`, if a
// function uses an instruction that is not supported or a symbol that `addresses` lacks.
Program compile(const Module &, const SymbolAddresses &addresses, std::vector<Diagnostic> &diagnostics,
                const CompileOptions & = {});

// Receives the output of kernels. Any worker may call it, one at a time.
using Print = std::function<void(std::string_view)>;

// How run() executes a kernel.
struct RunOptions {
  Limits limits{};
  Print print{};                   // empty: output is dropped
  const Sample *sample = nullptr;  // the blocks that run by a program with costs; null: none
  Checks checks{};
};

// Runs a kernel to its end. `parameters` has the layout of the kernel's parameter space.
LaunchResult run(const Program &, std::string_view kernel, const LaunchShape &,
                 std::span<const std::byte> parameters, Memory &, const RunOptions & = {});

}  // namespace cushim::ptx
