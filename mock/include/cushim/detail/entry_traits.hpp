// SPDX-License-Identifier: Apache-2.0
// The traits of each entry point: which object it creates or destroys, whether it waits, in which stream it
// enqueues work, which memory it accesses. The table has one row for each base name (entry_traits.inc), which
// holds for all ABI and per-thread variants. Sources: the driver API reference (the comments of cuda.h), and
// recorded answers of real drivers where they differ from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace cushim::mock {

// The kinds of objects that entry points create or destroy: CUSHIM_OBJECT(enumerator, name).
#define CUSHIM_OBJECTS(CUSHIM_OBJECT)                                           \
  CUSHIM_OBJECT(none, "")                                                       \
  CUSHIM_OBJECT(address_range, "address range")                                 \
  CUSHIM_OBJECT(allocation_handle, "allocation handle")                         \
  CUSHIM_OBJECT(array, "array")                                                 \
  CUSHIM_OBJECT(callback_registration, "callback registration")                 \
  CUSHIM_OBJECT(context, "context")                                             \
  CUSHIM_OBJECT(context_stack_entry, "entry of the context stack")              \
  CUSHIM_OBJECT(device_memory, "device memory")                                 \
  CUSHIM_OBJECT(egl_connection, "EGL stream connection")                        \
  CUSHIM_OBJECT(egl_frame, "EGL frame")                                         \
  CUSHIM_OBJECT(endpoint_binding, "binding of a logical endpoint")              \
  CUSHIM_OBJECT(endpoint_ids, "ids of logical endpoints")                       \
  CUSHIM_OBJECT(event, "event")                                                 \
  CUSHIM_OBJECT(executable_graph, "executable graph")                           \
  CUSHIM_OBJECT(external_memory, "external memory")                             \
  CUSHIM_OBJECT(external_semaphore, "external semaphore")                       \
  CUSHIM_OBJECT(gl_buffer, "registered GL buffer")                              \
  CUSHIM_OBJECT(gl_mapping, "mapping of a GL buffer")                           \
  CUSHIM_OBJECT(graph, "graph")                                                 \
  CUSHIM_OBJECT(graph_node, "graph node")                                       \
  CUSHIM_OBJECT(graphics_mapping, "mapping of graphics resources")              \
  CUSHIM_OBJECT(graphics_resource, "graphics resource")                         \
  CUSHIM_OBJECT(green_context, "green context")                                 \
  CUSHIM_OBJECT(ipc_memory, "memory of another process")                        \
  CUSHIM_OBJECT(library, "library")                                             \
  CUSHIM_OBJECT(linker, "linker")                                               \
  CUSHIM_OBJECT(logical_endpoint, "logical endpoint")                           \
  CUSHIM_OBJECT(managed_memory, "managed memory")                               \
  CUSHIM_OBJECT(mapped_memory, "mapped memory")                                 \
  CUSHIM_OBJECT(memory_pool, "memory pool")                                     \
  CUSHIM_OBJECT(mipmapped_array, "mipmapped array")                             \
  CUSHIM_OBJECT(module, "module")                                               \
  CUSHIM_OBJECT(multicast_binding, "binding of a multicast object")             \
  CUSHIM_OBJECT(peer_access, "peer access")                                     \
  CUSHIM_OBJECT(pinned_memory, "pinned memory")                                 \
  CUSHIM_OBJECT(primary_context, "primary context")                             \
  CUSHIM_OBJECT(process_checkpoint, "checkpoint of a process")                  \
  CUSHIM_OBJECT(process_lock, "lock of a process")                              \
  CUSHIM_OBJECT(registered_memory, "registered memory")                         \
  CUSHIM_OBJECT(shared_pool_memory, "stream-ordered memory of another process") \
  CUSHIM_OBJECT(stream, "stream")                                               \
  CUSHIM_OBJECT(stream_ordered_memory, "stream-ordered memory")                 \
  CUSHIM_OBJECT(surface_object, "surface object")                               \
  CUSHIM_OBJECT(texture_object, "texture object")                               \
  CUSHIM_OBJECT(texture_reference, "texture reference")                         \
  CUSHIM_OBJECT(user_object, "user object")

enum class Object : std::uint8_t {
#define CUSHIM_OBJECT(enumerator, name) enumerator,
  CUSHIM_OBJECTS(CUSHIM_OBJECT)
#undef CUSHIM_OBJECT
};

// Returns the name of an object for messages: "device memory".
const char *object_name(Object object) noexcept;

// Returns whether the object is memory that a program accesses by its address.
constexpr bool is_memory(Object object) noexcept {
  using enum Object;
  for (const Object memory : {device_memory, ipc_memory, managed_memory, mapped_memory, pinned_memory,
                              registered_memory, shared_pool_memory, stream_ordered_memory})
    if (object == memory) return true;
  return false;
}

// The index of an argument, from 0, or kLastArgument: variants of one name differ in the number of their
// arguments.
using ArgumentIndex = std::int8_t;
inline constexpr ArgumentIndex kLastArgument = -1;
inline constexpr ArgumentIndex kNoArgument = -2;

// Returns the index from 0 of an argument, among `count`. There must be one.
constexpr std::size_t position(ArgumentIndex index, std::size_t count) noexcept {
  return index == kLastArgument ? count - 1 : static_cast<std::size_t>(index);
}

// Memory that a call names.
struct MemoryUse {
  enum class Access : std::uint8_t {
    none,
    names,  // the call takes the address, but neither reads nor writes there
    reads,
    writes,
    both  // reads and writes, at addresses that a structure has
  };
  enum class Space : std::uint8_t {
    device,             // a device address
    host,               // a host address
    any,                // a unified address, of a device or of the host
    array,              // an array; the next argument is the offset in it
    rows,               // a device address, followed by pitch, value, width and height
    described_2d,       // pointer to a CUDA_MEMCPY2D
    described_3d,       // pointer to a CUDA_MEMCPY3D
    described_3d_peer,  // pointer to a CUDA_MEMCPY3D_PEER
    list                // pointer to addresses or to structures with addresses
  };
  Access access = Access::none;
  Space space = Space::device;
  ArgumentIndex argument = kNoArgument;
  ArgumentIndex size = kNoArgument;  // number of elements
  std::uint8_t element = 1;          // size of an element, in bytes

  // Returns whether the argument itself is the address of memory that must exist during the call.
  constexpr bool is_device_address() const noexcept {
    return access != Access::none && (space == Space::device || space == Space::any || space == Space::rows);
  }
  // Returns whether the call's arguments tell which bytes it accesses.
  constexpr bool has_extent() const noexcept {
    return size != kNoArgument || space == Space::rows || is_described();
  }
  constexpr bool is_described() const noexcept {
    return space == Space::described_2d || space == Space::described_3d || space == Space::described_3d_peer;
  }
};

struct EntryTraits;

// One trait of a row. Made by the functions in entry_traits_table.hpp.
struct Trait {
  enum class Field : std::uint8_t { flag, wait, lifetime, inverse, bytes, stream, memory, same_context };
  Field field;
  bool EntryTraits::*flag = nullptr;
  std::uint8_t value = 0;  // enumerator of the field's type
  Object object = Object::none;
  ArgumentIndex first = kNoArgument, second = kNoArgument;
  std::string_view text{};
  MemoryUse memory{};
};

struct EntryTraits {
  // How a call changes the lifetime of `object`.
  enum class Lifetime : std::uint8_t {
    none,
    creates,
    opens,     // creates the object, or adds a reference if it exists
    retains,   // adds a reference
    releases,  // removes a reference; the last one destroys the object
    destroys,
    resets  // destroys the object whatever references it has
  };
  // How the host waits for work that was enqueued before.
  enum class Wait : std::uint8_t {
    never,
    polls,  // returns whether the work is complete, without waiting
    may_block,
    synchronizes  // always waits
  };
  // Where a call enqueues work.
  enum class Queue : std::uint8_t {
    none,
    stream,       // the stream in argument `stream`
    described,    // streams that argument `stream` leads to: a structure, a pointer, a context
    null_stream,  // the null stream, without an argument
  };

  constexpr EntryTraits(std::string_view name, std::initializer_list<Trait> traits) : base(name) {
    for (const Trait &trait : traits) set(trait);
  }

  std::string_view base;
  bool needs_context = false;  // without a current context: CUDA_ERROR_INVALID_CONTEXT (201), at least for
                               // the null stream
  bool works_after_fault = false;       // works while the current context is lost because of a fault
  bool is_query = false;                // only reads state
  bool configures = false;              // only changes state of the driver or of objects that exist
  bool changes_current = false;         // changes the thread's current context
  bool allocates = false;               // takes device memory for something else than the created object
  bool ends_capture = false;            // ends the capture of a stream
  bool returns_pending_errors = false;  // returns errors of earlier asynchronous work of the context
  Wait wait = Wait::never;

  Lifetime lifetime = Lifetime::none;
  Object object = Object::none;
  ArgumentIndex subject = kNoArgument;  // the object, or where the call writes its handle
  // For creates, opens and retains: a call that ends the object. For the other lifetimes: a call that makes
  // such an object.
  std::string_view inverse{};
  // The argument with the size of the created memory in bytes. If `rows` is set: the argument to which the
  // call writes the pitch; the size is the pitch times argument `rows`.
  ArgumentIndex bytes = kNoArgument, rows = kNoArgument;

  Queue queue = Queue::none;
  ArgumentIndex stream = kNoArgument;
  std::array<MemoryUse, 2> memory{};
  // Handles that must be of one context.
  std::array<ArgumentIndex, 2> same_context{kNoArgument, kNoArgument};

  // Returns whether the call begins the lifetime of an object or adds a reference to it.
  constexpr bool begins_lifetime() const noexcept {
    return lifetime == Lifetime::creates || lifetime == Lifetime::opens || lifetime == Lifetime::retains;
  }
  // Returns whether the call ends the lifetime of an object or removes a reference to it.
  constexpr bool ends_lifetime() const noexcept { return lifetime != Lifetime::none && !begins_lifetime(); }
  // Returns whether the call takes addresses of memory.
  constexpr bool names_memory() const noexcept { return memory[0].access != MemoryUse::Access::none; }

 private:
  constexpr void set(const Trait &trait) {
    switch (trait.field) {
      case Trait::Field::flag:
        this->*trait.flag = true;
        break;
      case Trait::Field::wait:
        wait = static_cast<Wait>(trait.value);
        break;
      case Trait::Field::lifetime:
        lifetime = static_cast<Lifetime>(trait.value);
        object = trait.object;
        subject = trait.first;
        break;
      case Trait::Field::inverse:
        inverse = trait.text;
        break;
      case Trait::Field::bytes:
        bytes = trait.first;
        rows = trait.second;
        break;
      case Trait::Field::stream:
        queue = static_cast<Queue>(trait.value);
        stream = trait.first;
        break;
      case Trait::Field::memory:
        memory[memory[0].access == MemoryUse::Access::none ? 0 : 1] = trait.memory;
        break;
      case Trait::Field::same_context:
        same_context = {trait.first, trait.second};
        break;
    }
  }
};

// Returns the traits of the entry point in a slot.
const EntryTraits &traits_of(int slot) noexcept;

}  // namespace cushim::mock
