// SPDX-License-Identifier: Apache-2.0
// Includes all typed C++ headers.
#pragma once

#include <cushim/capture.hpp>
#include <cushim/context.hpp>
#include <cushim/context_ref.hpp>
#include <cushim/copy.hpp>
#include <cushim/device.hpp>
#include <cushim/driver.hpp>
#include <cushim/error.hpp>
#include <cushim/event.hpp>
#include <cushim/format.hpp>
#include <cushim/function.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/ipc.hpp>
#include <cushim/jit.hpp>
#include <cushim/launch.hpp>
#include <cushim/library.hpp>
#include <cushim/linker.hpp>
#include <cushim/memop.hpp>
#include <cushim/memory.hpp>
#include <cushim/memory_access.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/memory_resource.hpp>
#include <cushim/module.hpp>
#include <cushim/occupancy.hpp>
#include <cushim/physical_memory.hpp>
#include <cushim/pointer.hpp>
#include <cushim/span.hpp>
#include <cushim/stream.hpp>
#include <cushim/stream_buffer.hpp>
#include <cushim/virtual_buffer.hpp>
#include <cushim/virtual_memory.hpp>
