// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "structures.hpp"

namespace arguments {
namespace {

// The handle or address of each object while cases are only listed, without a driver. A multiple of 2 MiB, so
// that an offset can be added.
constexpr std::uint64_t kPlaceholder = 0x5a5a'0020'0000;

template <class Handle>
std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uint64_t>(handle);
  else
    return handle;
}
template <class Handle>
Handle handle_of(std::uint64_t number) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(number);
  else
    return static_cast<Handle>(number);
}

// Reserves addresses of which the first `size` bytes are accessible.
void *map_with_gap(std::size_t size) {
  constexpr std::size_t kReservedBytes = 64 << 20;
  void *const memory =
      ::mmap(nullptr, kReservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, size, PROT_READ | PROT_WRITE) != 0)
    throw std::runtime_error("cannot map memory");
  return memory;
}

void fill(void *memory) { std::fill_n(static_cast<std::uint32_t *>(memory), kBytes / 4, 1U); }

// Pageable memory, which is used again by all cases of the process. Larger than an allocation, so that copies
// to it may be changed.
constexpr std::size_t kPageableBytes = 1 << 20;
void *pageable_memory(int index) {
  static void *memory[2]{};
  if (memory[index] == nullptr) memory[index] = map_with_gap(kPageableBytes);
  fill(memory[index]);
  return memory[index];
}

}  // namespace

template <class Handle, class Make, class Destroy>
Handle Objects::once(std::string_view name, Make make, Destroy destroy) {
  if (driver_ == nullptr) return handle_of<Handle>(kPlaceholder);
  const auto found = std::ranges::find(named_, name, &Named::name);
  if (found != named_.end()) return handle_of<Handle>(found->handle);
  Handle handle{};
  check(make(&handle), name);
  named_.push_back({std::string(name), number_of(handle), [destroy, handle] { destroy(handle); }});
  return handle;
}

template <class Add>
CUgraphNode Objects::node(std::string_view name, Add add) {
  return once<CUgraphNode>(name, add, [](CUgraphNode) {});  // destroyed with the graph
}

void Objects::check(CUresult result, std::string_view name) {
  if (result != CUDA_SUCCESS) throw NotMade(fmt::format("no {}: {}", name, static_cast<int>(result)));
}

void Objects::destroy() {
  if (driver_ == nullptr) return;
  while (!named_.empty()) {
    const std::function<void()> destroy = std::move(named_.back().destroy);
    named_.pop_back();
    destroy();
  }
}

void Objects::forget(std::uint64_t handle) {
  std::erase_if(named_, [handle](const Named &named) { return named.handle == handle; });
}

void Objects::keep_results() {
  for (const Result &result : results_)
    if (is_written(static_cast<const std::uint32_t *>(result.place)))
      named_.push_back({"", 0, result.destroy});
}

void *Objects::allocate(std::size_t size) {
  constexpr std::size_t kStorage = 256 << 10;
  static std::byte *const storage = static_cast<std::byte *>(map_with_gap(kStorage));
  const std::size_t at = allocated_;
  allocated_ += (size + 63) / 64 * 64;
  if (allocated_ > kStorage) std::abort();
  return storage + at;
}

Out<CUdeviceptr> Objects::made_memory() {
  const Out<CUdeviceptr> result = hidden<CUdeviceptr>();
  results_.push_back({result.place, [this, result] { driver_->cuMemFree(*result.place); }});
  return result;
}
Out<void *> Objects::made_host_memory() {
  const Out<void *> result = hidden<void *>();
  results_.push_back({result.place, [this, result] { driver_->cuMemFreeHost(*result.place); }});
  return result;
}
Out<CUdeviceptr> Objects::made_range(std::size_t size) {
  const Out<CUdeviceptr> result = hidden<CUdeviceptr>();
  results_.push_back(
      {result.place, [this, result, size] { driver_->cuMemAddressFree(*result.place, size); }});
  return result;
}
Out<CUmemGenericAllocationHandle> Objects::made_physical() {
  const Out<CUmemGenericAllocationHandle> result = hidden<CUmemGenericAllocationHandle>();
  results_.push_back({result.place, [this, result] { driver_->cuMemRelease(*result.place); }});
  return result;
}
Out<CUtexObject> Objects::made_texture() {
  const Out<CUtexObject> result = hidden<CUtexObject>();
  results_.push_back({result.place, [this, result] { driver_->cuTexObjectDestroy(*result.place); }});
  return result;
}
Out<CUsurfObject> Objects::made_surface() {
  const Out<CUsurfObject> result = hidden<CUsurfObject>();
  results_.push_back({result.place, [this, result] { driver_->cuSurfObjectDestroy(*result.place); }});
  return result;
}
Out<int> Objects::made_descriptor() {
  const Out<int> result = hidden<int>();
  results_.push_back({result.place, [result] {
                        if (*result.place > 2) ::close(*result.place);
                      }});
  return result;
}

CUcontext Objects::other_context() {
  return once<CUcontext>(
      "other context",
      [this](CUcontext *made) {
        CUcontext popped = nullptr;
        const CUresult result = driver_->cuCtxCreate(made, nullptr, 0, device);
        driver_->cuCtxPopCurrent(&popped);
        return result;
      },
      [this](CUcontext context) { driver_->cuCtxDestroy(context); });
}

CUdevice Objects::device_to_flag() {
  once<int>(
      "flags", [](int *) { return CUDA_SUCCESS; },
      [this](int) { driver_->cuDevicePrimaryCtxSetFlags(device, 0); });
  return device;
}

Address Objects::memory() {
  return {once<CUdeviceptr>(
      "memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAlloc(made, kBytes), "memory");
        return driver_->cuMemsetD32(*made, 1, kBytes / 4);
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::other_memory() {
  return {once<CUdeviceptr>(
      "other memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAlloc(made, kBytes), "other memory");
        return driver_->cuMemsetD32(*made, 1, kBytes / 4);
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::managed() {
  return {once<CUdeviceptr>(
      "managed memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocManaged(made, kBytes, CU_MEM_ATTACH_GLOBAL), "managed memory");
        return driver_->cuMemsetD32(*made, 1, kBytes / 4);
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::stream_ordered() {
  return {once<CUdeviceptr>(
      "stream-ordered memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocAsync(made, kBytes, stream()), "stream-ordered memory");
        driver_->cuMemsetD32Async(*made, 1, kBytes / 4, stream());
        return driver_->cuStreamSynchronize(stream());
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::pool_memory() {
  return {once<CUdeviceptr>(
      "memory of the pool",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocFromPoolAsync(made, kBytes, pool(), stream()), "memory of the pool");
        driver_->cuMemsetD32Async(*made, 1, kBytes / 4, stream());
        return driver_->cuStreamSynchronize(stream());
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}

HostMemory Objects::pinned() {
  return {once<void *>(
      "pinned memory",
      [this](void **made) {
        const CUresult result = driver_->cuMemAllocHost(made, kBytes);
        if (result == CUDA_SUCCESS) fill(*made);
        return result;
      },
      [this](void *memory) { driver_->cuMemFreeHost(memory); })};
}
HostMemory Objects::pageable() {
  return {driver_ == nullptr ? handle_of<void *>(kPlaceholder) : pageable_memory(0)};
}
HostMemory Objects::pageable_to_register() {
  const HostMemory memory = pageable();
  once<int>(
      "registration", [](int *) { return CUDA_SUCCESS; },
      [this, memory](int) { driver_->cuMemHostUnregister(memory.value); });
  return memory;
}
HostMemory Objects::registered() {
  return {once<void *>(
      "registered memory",
      [this](void **made) {
        *made = pageable_memory(1);
        return driver_->cuMemHostRegister(*made, kBytes, CU_MEMHOSTREGISTER_DEVICEMAP);
      },
      [this](void *memory) { driver_->cuMemHostUnregister(memory); })};
}

CUmemGenericAllocationHandle Objects::physical() {
  return once<CUmemGenericAllocationHandle>(
      "physical memory",
      [this](CUmemGenericAllocationHandle *made) {
        const CUmemAllocationProp properties = physical_properties();
        return driver_->cuMemCreate(made, kMapped, &properties, 0);
      },
      [this](CUmemGenericAllocationHandle memory) { driver_->cuMemRelease(memory); });
}
Address Objects::range() {
  return {once<CUdeviceptr>(
      "range", [this](CUdeviceptr *made) { return driver_->cuMemAddressReserve(made, kReserved, 0, 0, 0); },
      [this](CUdeviceptr address) { driver_->cuMemAddressFree(address, kReserved); })};
}
Address Objects::mapped() {
  const Address address = range();
  const CUdeviceptr first = address.value;
  once<int>(
      "mapping",
      [this, first](int *) {
        check(driver_->cuMemMap(first, kMapped, 0, physical(), 0), "mapping");
        const CUmemAccessDesc access = access_of_device();
        check(driver_->cuMemSetAccess(first, kMapped, &access, 1), "mapping");
        check(driver_->cuMemsetD32(first + kMapped - 4, 1, 1), "mapping");
        check(driver_->cuMemsetD32(first, 1, kBytes / 4), "mapping");
        return driver_->cuStreamSynchronize(nullptr);  // a memset does not wait
      },
      [this, first](int) { driver_->cuMemUnmap(first, kMapped); });
  return address;
}
Address Objects::unmapped() { return {range().value + kMapped}; }

CUmemoryPool Objects::pool() {
  return once<CUmemoryPool>(
      "pool",
      [this](CUmemoryPool *made) {
        const CUmemPoolProps properties = pool_properties();
        return driver_->cuMemPoolCreate(made, &properties);
      },
      [this](CUmemoryPool pool) { driver_->cuMemPoolDestroy(pool); });
}
CUmemoryPool Objects::pool_to_set() {
  const CUmemoryPool made = pool();
  once<int>(
      "default pool", [](int *) { return CUDA_SUCCESS; },
      [this](int) {
        CUmemoryPool by_default = nullptr;
        driver_->cuDeviceGetDefaultMemPool(&by_default, device);
        driver_->cuDeviceSetMemPool(device, by_default);
      });
  return made;
}

CUstream Objects::stream() {
  return once<CUstream>(
      "stream", [this](CUstream *made) { return driver_->cuStreamCreate(made, CU_STREAM_NON_BLOCKING); },
      [this](CUstream stream) { driver_->cuStreamDestroy(stream); });
}
CUstream Objects::other_stream() {
  return once<CUstream>(
      "other stream",
      [this](CUstream *made) { return driver_->cuStreamCreate(made, CU_STREAM_NON_BLOCKING); },
      [this](CUstream stream) { driver_->cuStreamDestroy(stream); });
}
CUstream Objects::blocking_stream() {
  return once<CUstream>(
      "blocking stream", [this](CUstream *made) { return driver_->cuStreamCreate(made, CU_STREAM_DEFAULT); },
      [this](CUstream stream) { driver_->cuStreamDestroy(stream); });
}
Flag Objects::flag() {
  void *const value = once<void *>(
      "flag", [this](void **made) { return driver_->cuMemHostAlloc(made, sizeof(std::uint32_t), 0); },
      [this](void *memory) { driver_->cuMemFreeHost(memory); });
  Flag flag{static_cast<volatile std::uint32_t *>(value), 0};
  if (driver_ == nullptr) return flag;
  *flag.value = 0;
  check(driver_->cuMemHostGetDevicePointer(&flag.address, value, 0), "flag");
  return flag;
}
CUstream Objects::capturing() {
  return once<CUstream>(
      "capturing stream",
      [this](CUstream *made) {
        check(driver_->cuStreamCreate(made, CU_STREAM_NON_BLOCKING), "capturing stream");
        return driver_->cuStreamBeginCapture(*made, CU_STREAM_CAPTURE_MODE_RELAXED);
      },
      [this](CUstream stream) {
        CUgraph captured = nullptr;
        driver_->cuStreamEndCapture(stream, &captured);
        if (captured != nullptr) driver_->cuGraphDestroy(captured);
        driver_->cuStreamDestroy(stream);
      });
}
CUstream Objects::stream_to_capture() {
  const CUstream captured = stream();
  once<int>(
      "capture", [](int *) { return CUDA_SUCCESS; },
      [this, captured](int) {
        for (const CUstream one : {captured, CU_STREAM_PER_THREAD}) {
          CUgraph made = nullptr;
          driver_->cuStreamEndCapture(one, &made);
          const auto is_it = [made](const Named &named) { return named.handle == number_of(made); };
          if (made != nullptr && std::ranges::none_of(named_, is_it)) driver_->cuGraphDestroy(made);
        }
      });
  return captured;
}
List<CUstreamCaptureMode> Objects::capture_mode_to_exchange() {
  once<int>(
      "capture mode", [](int *) { return CUDA_SUCCESS; },
      [this](int) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        driver_->cuThreadExchangeStreamCaptureMode(&mode);
      });
  return list({CU_STREAM_CAPTURE_MODE_RELAXED});
}

CUevent Objects::event() {
  return once<CUevent>(
      "event",
      [this](CUevent *made) {
        check(driver_->cuEventCreate(made, CU_EVENT_DEFAULT), "event");
        check(driver_->cuEventRecord(*made, stream()), "event");
        return driver_->cuStreamSynchronize(stream());
      },
      [this](CUevent event) { driver_->cuEventDestroy(event); });
}
CUevent Objects::other_event() {
  return once<CUevent>(
      "other event", [this](CUevent *made) { return driver_->cuEventCreate(made, CU_EVENT_DEFAULT); },
      [this](CUevent event) { driver_->cuEventDestroy(event); });
}
CUevent Objects::ipc_event() {
  return once<CUevent>(
      "IPC event",
      [this](CUevent *made) {
        return driver_->cuEventCreate(made, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
      },
      [this](CUevent event) { driver_->cuEventDestroy(event); });
}

CUmodule Objects::module() {
  return once<CUmodule>(
      "module", [this](CUmodule *made) { return driver_->cuModuleLoadData(made, kPtx); },
      [this](CUmodule module) { driver_->cuModuleUnload(module); });
}
CUfunction Objects::function(const char *name) {
  return once<CUfunction>(
      fmt::format("function {}", name),
      [&](CUfunction *made) { return driver_->cuModuleGetFunction(made, module(), name); },
      [](CUfunction) {});
}
CUlibrary Objects::library() {
  return once<CUlibrary>(
      "library",
      [this](CUlibrary *made) {
        return driver_->cuLibraryLoadData(made, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0);
      },
      [this](CUlibrary library) { driver_->cuLibraryUnload(library); });
}
CUkernel Objects::kernel(const char *name) {
  return once<CUkernel>(
      fmt::format("kernel {}", name),
      [&](CUkernel *made) { return driver_->cuLibraryGetKernel(made, library(), name); }, [](CUkernel) {});
}
CUlinkState Objects::link() {
  return once<CUlinkState>(
      "link", [this](CUlinkState *made) { return driver_->cuLinkCreate(0, nullptr, nullptr, made); },
      [this](CUlinkState link) { driver_->cuLinkDestroy(link); });
}

CUarray Objects::array() {
  return once<CUarray>(
      "array",
      [this](CUarray *made) {
        const CUDA_ARRAY_DESCRIPTOR description{64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1};
        return driver_->cuArrayCreate(made, &description);
      },
      [this](CUarray array) { driver_->cuArrayDestroy(array); });
}
CUarray Objects::array_1d() {
  return once<CUarray>(
      "1D array",
      [this](CUarray *made) {
        const CUDA_ARRAY_DESCRIPTOR description{4096, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
        return driver_->cuArrayCreate(made, &description);
      },
      [this](CUarray array) { driver_->cuArrayDestroy(array); });
}
CUarray Objects::array_3d() {
  return once<CUarray>(
      "3D array",
      [this](CUarray *made) {
        const CUDA_ARRAY3D_DESCRIPTOR description{
            16, 16, 8, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
        return driver_->cuArray3DCreate(made, &description);
      },
      [this](CUarray array) { driver_->cuArrayDestroy(array); });
}
CUmipmappedArray Objects::mipmapped() {
  return once<CUmipmappedArray>(
      "mipmapped array",
      [this](CUmipmappedArray *made) {
        const CUDA_ARRAY3D_DESCRIPTOR description{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
        return driver_->cuMipmappedArrayCreate(made, &description, 4);
      },
      [this](CUmipmappedArray array) { driver_->cuMipmappedArrayDestroy(array); });
}
CUtexObject Objects::texture() {
  return once<CUtexObject>(
      "texture",
      [this](CUtexObject *made) {
        const CUDA_RESOURCE_DESC resource = array_resource(array());
        const CUDA_TEXTURE_DESC description{};
        return driver_->cuTexObjectCreate(made, &resource, &description, nullptr);
      },
      [this](CUtexObject texture) { driver_->cuTexObjectDestroy(texture); });
}
CUsurfObject Objects::surface() {
  return once<CUsurfObject>(
      "surface",
      [this](CUsurfObject *made) {
        const CUDA_RESOURCE_DESC resource = array_resource(array_3d());
        return driver_->cuSurfObjectCreate(made, &resource);
      },
      [this](CUsurfObject surface) { driver_->cuSurfObjectDestroy(surface); });
}
CUtexref Objects::texture_reference() {
  return once<CUtexref>(
      "texture reference", [this](CUtexref *made) { return driver_->cuTexRefCreate(made); },
      [this](CUtexref texture) { driver_->cuTexRefDestroy(texture); });
}

CUgraph Objects::graph() {
  return once<CUgraph>(
      "graph", [this](CUgraph *made) { return driver_->cuGraphCreate(made, 0); },
      [this](CUgraph graph) { driver_->cuGraphDestroy(graph); });
}
CUgraph Objects::child_graph() {
  return once<CUgraph>(
      "child graph",
      [this](CUgraph *made) {
        CUgraphNode added = nullptr;
        check(driver_->cuGraphCreate(made, 0), "child graph");
        return driver_->cuGraphAddEmptyNode(&added, *made, nullptr, 0);
      },
      [this](CUgraph graph) { driver_->cuGraphDestroy(graph); });
}
CUgraphNode Objects::empty_node() {
  return node("empty node",
              [this](CUgraphNode *made) { return driver_->cuGraphAddEmptyNode(made, graph(), nullptr, 0); });
}
CUgraphNode Objects::next_node() {
  return node("next node", [this](CUgraphNode *made) {
    const CUgraphNode before = empty_node();
    return driver_->cuGraphAddEmptyNode(made, graph(), &before, 1);
  });
}
CUgraphNode Objects::kernel_node() {
  return node("kernel node", [this](CUgraphNode *made) {
    const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(*this);
    return driver_->cuGraphAddKernelNode(made, graph(), nullptr, 0, &parameters);
  });
}
CUgraphNode Objects::copy_node() {
  return node("copy node", [this](CUgraphNode *made) {
    const CUDA_MEMCPY3D copy = copy_3d(*this);
    return driver_->cuGraphAddMemcpyNode(made, graph(), nullptr, 0, &copy, context());
  });
}
CUgraphNode Objects::memset_node() {
  return node("memset node", [this](CUgraphNode *made) {
    const CUDA_MEMSET_NODE_PARAMS parameters = memset_parameters(*this);
    return driver_->cuGraphAddMemsetNode(made, graph(), nullptr, 0, &parameters, context());
  });
}
CUgraphNode Objects::host_node() {
  return node("host node", [this](CUgraphNode *made) {
    const CUDA_HOST_NODE_PARAMS parameters = host_parameters(*this);
    return driver_->cuGraphAddHostNode(made, graph(), nullptr, 0, &parameters);
  });
}
CUgraphNode Objects::child_node() {
  return node("child node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddChildGraphNode(made, graph(), nullptr, 0, child_graph());
  });
}
CUgraphNode Objects::record_node() {
  return node("record node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddEventRecordNode(made, graph(), nullptr, 0, event());
  });
}
CUgraphNode Objects::wait_node() {
  return node("wait node", [this](CUgraphNode *made) {
    return driver_->cuGraphAddEventWaitNode(made, graph(), nullptr, 0, event());
  });
}
CUgraphNode Objects::batch_node() {
  return node("batch node", [this](CUgraphNode *made) {
    const CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = batch_parameters(*this);
    return driver_->cuGraphAddBatchMemOpNode(made, graph(), nullptr, 0, &parameters);
  });
}
CUgraphNode Objects::allocation_node() {
  return node("allocation node", [this](CUgraphNode *made) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = allocation_parameters();
    return driver_->cuGraphAddMemAllocNode(made, graph(), nullptr, 0, &parameters);
  });
}
Address Objects::allocation_of_node() {
  return {once<CUdeviceptr>(
      "allocation of the node",
      [this](CUdeviceptr *made) {
        CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
        const CUresult result = driver_->cuGraphMemAllocNodeGetParams(allocation_node(), &parameters);
        *made = parameters.dptr;
        return result;
      },
      [](CUdeviceptr) {})};
}
CUgraphConditionalHandle Objects::conditional() {
  return once<CUgraphConditionalHandle>(
      "conditional handle",
      [this](CUgraphConditionalHandle *made) {
        return driver_->cuGraphConditionalHandleCreate(made, graph(), context(), 0, 0);
      },
      [](CUgraphConditionalHandle) {});
}
CUgraphExec Objects::executable(CUgraphNode) {
  return once<CUgraphExec>(
      "executable graph", [this](CUgraphExec *made) { return driver_->cuGraphInstantiate(made, graph(), 0); },
      [this](CUgraphExec executable) { driver_->cuGraphExecDestroy(executable); });
}
CUuserObject Objects::user_object() {
  constexpr unsigned kReferences = 4;
  return once<CUuserObject>(
      "user object",
      [this](CUuserObject *made) {
        return driver_->cuUserObjectCreate(made, nullptr, do_nothing, kReferences,
                                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
      },
      // A call may have released references. The rest of them is not released.
      [](CUuserObject) {});
}

CUdevResource *Objects::multiprocessors() {
  CUdevResource *const resource = new_value(CUdevResource{});
  if (driver_ != nullptr)
    check(driver_->cuDeviceGetDevResource(device, resource, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  return resource;
}
CUdevResourceDesc Objects::resource_description() {
  return once<CUdevResourceDesc>(
      "resource description",
      [this](CUdevResourceDesc *made) {
        CUdevResource *const part = new_value(CUdevResource{});
        CUdevResource rest{};
        unsigned count = 1;
        check(driver_->cuDevSmResourceSplitByCount(part, &count, multiprocessors(), &rest, 0, 16), "split");
        return driver_->cuDevResourceGenerateDesc(made, part, 1);
      },
      [](CUdevResourceDesc) {});
}
CUgreenCtx Objects::green_context() {
  return once<CUgreenCtx>(
      "green context",
      [this](CUgreenCtx *made) {
        return driver_->cuGreenCtxCreate(made, resource_description(), device, CU_GREEN_CTX_DEFAULT_STREAM);
      },
      [this](CUgreenCtx context) { driver_->cuGreenCtxDestroy(context); });
}

}  // namespace arguments
