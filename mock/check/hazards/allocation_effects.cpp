// SPDX-License-Identifier: Apache-2.0
#include "hazards/allocation_effects.hpp"

namespace cushim::check {

namespace {

void made(CallView &call, std::uint64_t address, std::uint64_t size, MemoryKind kind) {
  call.model.memory_made(address, size, kind, call.current());
}

}  // namespace

void allocate(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::device); }
void allocate_rows(CallView &call) {
  made(call, call.written(0), call.written(1) * call.argument(3), MemoryKind::device);
}
void allocate_managed(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::managed); }
void allocate_pinned(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::pinned); }
void register_memory(CallView &call) {
  made(call, call.argument(0), call.argument(1), MemoryKind::registered);
}
void map_memory(CallView &call) {
  call.model.memory_mapped({.begin = call.argument(0),
                            .size = call.argument(1),
                            .physical = call.argument(3),
                            .offset = call.argument(2)},
                           call.current());
}
void create_physical(CallView &call) { call.model.physical_memory_made(call.written(0)); }
void open_memory(CallView &call) {
  const std::uint64_t address = call.written(0);
  if (call.model.is_pageable(address)) made(call, address, call.size_of(address), MemoryKind::device);
}
void find_global(CallView &call) {
  if (call.argument(0) != 0 && call.model.is_pageable(call.written(0)))
    made(call, call.written(0), call.size_of(call.written(0)), MemoryKind::device);
}
void device_address(CallView &call) { call.model.map_host_memory(call.written(0), call.argument(1)); }

void allocate_in_order(CallView &call) {
  call.model.memory_made_in_order(call.written(0), call.argument(1), call.last_stream(), call.access());
}
void free_in_order(CallView &call) {
  call.model.memory_freed_in_order(call.argument(0), call.last_stream(), call.access());
}

// Waits for all work that may use the memory.
void free_memory(CallView &call, VectorClock &host_learns) {
  call.model.before_memory_freed(call.argument(0));
  call.model.memory_freed(call.argument(0));
  host_learns = call.model.work_of_all();
}
void unmap(CallView &call, VectorClock &) {
  call.model.memory_unmapped({call.argument(0), call.argument(0) + call.argument(1)});
}
void destroy_array(CallView &call, VectorClock &host_learns) {
  call.model.array_gone(call.handle<CUarray>(0));
  host_learns = call.model.work_of_all();
}

}  // namespace cushim::check
