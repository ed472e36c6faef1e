// SPDX-License-Identifier: Apache-2.0
// The objects that a case needs. Each is made when it is first named, and destroyed after the case.
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fields.hpp"

namespace arguments {

inline constexpr std::size_t kBytes = 64 << 10;   // the size of allocations
inline constexpr std::size_t kGranule = 2 << 20;  // of physical memory
inline constexpr std::size_t kMapped = kGranule;  // mapped bytes of the range
inline constexpr std::size_t kReserved = 2 * kGranule;

// Arguments of calls. The type decides which other values a case passes (changes.hpp).

// A place for a value that the call writes. The answer contains numbers, unless they depend on addresses, the
// machine or earlier cases (`is_shown`).
template <class T>
struct Out {
  T *place;
  bool is_shown;
};
// A number that the call reads and writes.
template <class T>
struct InOut {
  T *place;
};
// A structure. The fields are at `part`, which may be a part of it.
template <class T>
struct In {
  T *value;
  void *part;
  const Fields *fields;
};
// An array, or another value, for which only null is passed instead.
template <class T>
struct List {
  T *first;
};
// The number of elements of a list. Larger numbers would make the driver read beyond it.
struct Count {
  unsigned value;
};
struct Address {
  CUdeviceptr value;
};
struct HostMemory {
  void *value;
};
// A handle that is a number. It is changed to 0.
struct Handle {
  std::uint64_t value;
};
// An argument that is not changed.
template <class T>
struct Fixed {
  T value;
};
template <class T>
Fixed<T> fixed(T value) {
  return {value};
}
// The size of a grid, without sizes that take long.
struct Grid {
  unsigned value;
};
// The size of an allocation, without sizes beyond 8 MiB.
struct SmallSize {
  std::size_t value;
};

// A number in pinned memory, and its address on the device.
struct Flag {
  volatile std::uint32_t *value;
  CUdeviceptr address;
};

// An object could not be made. The text names it and the result.
struct NotMade : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Objects {
 public:
  // Without a driver, makes no objects, and returns placeholders: enough to enumerate the changes of a call.
  Objects(const cushim::Driver *driver, CUcontext context) : driver_(driver), context_(context) {}
  Objects(const Objects &) = delete;
  Objects &operator=(const Objects &) = delete;
  ~Objects() { destroy(); }

  // Destroys the objects, newest first. The context must be current.
  void destroy();
  // Leaves the objects as they are: in a context with an error they cannot be destroyed.
  void abandon() { named_.clear(); }
  // Keeps destroy() from destroying the object with this handle, because the call has.
  void forget(std::uint64_t handle);

  // Throws NotMade unless the result is a success.
  static void check(CUresult result, std::string_view name);

  const CUdevice device = 0;
  CUcontext context() const { return context_; }
  CUcontext other_context();
  CUdevice device_to_flag();  // device; the flags of its primary context are 0 again after the case

  // Memory of kBytes, filled with the 32-bit number 1.
  Address memory();
  Address other_memory();
  Address managed();
  Address stream_ordered();
  Address pool_memory();  // of pool()
  HostMemory pinned();
  HostMemory pageable();
  HostMemory pageable_to_register();
  HostMemory registered();
  Address mapped();    // the first kMapped bytes of range()
  Address range();     // of kReserved bytes
  Address unmapped();  // the part of range() that is not mapped
  CUmemGenericAllocationHandle physical();
  CUmemoryPool pool();
  CUmemoryPool pool_to_set();  // pool(), after whose use the default pool becomes the device's again

  CUstream stream();
  CUstream other_stream();
  CUstream blocking_stream();    // synchronizes with the legacy stream; the others do not
  Flag flag();                   // 0
  CUstream capturing();          // a stream
  CUstream stream_to_capture();  // stream(); captures of it and of the per-thread stream end after the case
  List<CUstreamCaptureMode> capture_mode_to_exchange();
  CUevent event();        // recorded
  CUevent other_event();  // not recorded
  CUevent ipc_event();

  CUmodule module();
  CUfunction function(const char *name = "empty");
  CUlibrary library();
  CUkernel kernel(const char *name = "empty");
  CUlinkState link();

  CUarray array();  // 64 x 64 bytes
  CUarray array_1d();
  CUarray array_3d();
  CUmipmappedArray mipmapped();
  CUtexObject texture();
  CUsurfObject surface();
  CUtexref texture_reference();

  CUgraph graph();
  CUgraph child_graph();
  CUgraphNode empty_node();
  CUgraphNode next_node();  // depends on empty_node()
  CUgraphNode kernel_node();
  CUgraphNode copy_node();
  CUgraphNode memset_node();
  CUgraphNode host_node();
  CUgraphNode child_node();
  CUgraphNode record_node();
  CUgraphNode wait_node();
  CUgraphNode batch_node();
  CUgraphNode allocation_node();
  Address allocation_of_node();
  CUgraphConditionalHandle conditional();
  // The executable graph of graph(), with this node.
  CUgraphExec executable(CUgraphNode node);
  CUuserObject user_object();

  CUdevResource *multiprocessors();
  CUdevResourceDesc resource_description();
  CUgreenCtx green_context();

  // Places for results.
  template <class T>
  Out<T> out() {
    return {new_place<T>(), true};
  }
  template <class T>
  Out<T> hidden() {
    return {new_place<T>(), false};
  }
  // For an object that the call makes, which destroy() destroys.
  template <class T>
  Out<T> made() {
    const Out<T> result{new_place<T>(), false};
    results_.push_back({result.place, [this, result] { destroy_made(*result.place); }});
    return result;
  }
  // Returns a place for an object that destroy() destroys.
  template <class T, class Destroy>
  Out<T> made_with(Destroy destroy) {
    const Out<T> result = hidden<T>();
    results_.push_back({result.place, [result, destroy] { destroy(*result.place); }});
    return result;
  }
  Out<CUdeviceptr> made_memory();
  Out<void *> made_host_memory();
  Out<CUdeviceptr> made_range(std::size_t size);
  Out<CUmemGenericAllocationHandle> made_physical();
  Out<CUtexObject> made_texture();
  Out<CUsurfObject> made_surface();
  Out<int> made_descriptor();  // of a file
  // Returns whether the call has written the place.
  template <class T>
  static bool is_written(const T *place) {
    T unwritten;
    std::memset(static_cast<void *>(&unwritten), kUnwritten, sizeof unwritten);
    return std::memcmp(place, &unwritten, sizeof unwritten) != 0;
  }
  // Lets destroy() destroy what the call has made.
  void keep_results();

  template <class T>
  In<T> in(const T &value) {
    return in(value, fields_of<T>());
  }
  template <class T>
  In<T> in(const T &value, const Fields &fields) {
    T *const place = new_value(value);
    return {place, place, &fields};
  }
  // A structure with the fields of a part.
  template <class T, class Part>
  In<T> in_part(const T &value, Part T::*part) {
    T *const place = new_value(value);
    return {place, &(place->*part), &fields_of<Part>()};
  }
  template <class T>
  InOut<T> in_out(T value) {
    return {new_value(value)};
  }
  template <class T>
  List<T> list(std::initializer_list<T> values) {
    T *const first = static_cast<T *>(allocate(sizeof(T) * values.size()));
    std::size_t i = 0;
    for (const T &value : values) std::memcpy(first + i++, &value, sizeof value);
    return {first};
  }

 private:
  static constexpr int kUnwritten = 0x5a;

  // Returns the object of this name; makes it if there is none. destroy(handle) destroys it.
  template <class Handle, class Make, class Destroy>
  Handle once(std::string_view name, Make make, Destroy destroy);
  // As above; destroy_made() destroys it.
  template <class Handle, class Make>
  Handle once(std::string_view name, Make make) {
    return once<Handle>(name, make, [this](Handle handle) { destroy_made(handle); });
  }
  CUstream stream_with(CUstream_flags flags, std::string_view name);
  template <class Add>
  CUgraphNode node(std::string_view name, Add add);
  // Returns a node of graph() that an entry point adds with these parameters.
  template <class Parameters, class Add>
  CUgraphNode node_with(std::string_view name, Parameters (*parameters)(Objects &), Add CushimDriver::*add);
  // Undoes, after the case, what its call may have changed.
  template <class Undo>
  void undo_later(std::string_view name, Undo undo) {
    once<int>(
        name, [](int *) { return CUDA_SUCCESS; }, [undo](int) { undo(); });
  }
  Address allocated(std::string_view name);

  void destroy_made(CUcontext context) { driver_->cuCtxDestroy(context); }
  void destroy_made(CUstream stream) { driver_->cuStreamDestroy(stream); }
  void destroy_made(CUevent event) { driver_->cuEventDestroy(event); }
  void destroy_made(CUmodule module) { driver_->cuModuleUnload(module); }
  void destroy_made(CUlibrary library) { driver_->cuLibraryUnload(library); }
  void destroy_made(CUlinkState link) { driver_->cuLinkDestroy(link); }
  void destroy_made(CUarray array) { driver_->cuArrayDestroy(array); }
  void destroy_made(CUmipmappedArray array) { driver_->cuMipmappedArrayDestroy(array); }
  void destroy_made(CUmemoryPool pool) { driver_->cuMemPoolDestroy(pool); }
  void destroy_made(CUgraph graph) { driver_->cuGraphDestroy(graph); }
  void destroy_made(CUgraphExec graph) { driver_->cuGraphExecDestroy(graph); }
  void destroy_made(CUuserObject object) { driver_->cuUserObjectRelease(object, 1); }
  void destroy_made(CUtexref texture) { driver_->cuTexRefDestroy(texture); }
  void destroy_made(CUgreenCtx context) { driver_->cuGreenCtxDestroy(context); }

  // Returns memory that is followed by pages without access: a driver that writes beyond it crashes.
  void *allocate(std::size_t size);
  template <class T>
  T *new_place() {
    void *const place = allocate(sizeof(T) < 512 ? 512 : sizeof(T));  // calls may write several
    std::memset(place, kUnwritten, 512);
    return static_cast<T *>(place);
  }
  template <class T>
  T *new_value(const T &value) {
    void *const place = allocate(sizeof value);
    std::memcpy(place, &value, sizeof value);
    return static_cast<T *>(place);
  }

  struct Named {
    std::string name;
    std::uint64_t handle;
    std::function<void()> destroy;
  };
  struct Result {
    void *place;
    std::function<void()> destroy;
  };
  const cushim::Driver *driver_;
  CUcontext context_;
  std::vector<Named> named_;
  std::vector<Result> results_;
  std::size_t allocated_ = 0;
};

}  // namespace arguments
