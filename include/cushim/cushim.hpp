// SPDX-License-Identifier: Apache-2.0
// Includes all typed C++ headers.
#pragma once

#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/device.hpp>
#include <cushim/driver.hpp>
#include <cushim/error.hpp>
#include <cushim/event.hpp>
#include <cushim/format.hpp>
#include <cushim/ipc.hpp>
#include <cushim/memop.hpp>
#include <cushim/memory.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pointer.hpp>
#include <cushim/span.hpp>
#include <cushim/stream.hpp>
