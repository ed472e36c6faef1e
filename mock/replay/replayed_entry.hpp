// SPDX-License-Identifier: Apache-2.0
// The properties of an entry point on which the replay of its calls depends. They are found once, not in each
// call.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "buffers.hpp"
#include "type.hpp"

namespace cushim::replay {

inline constexpr const char *kLacksOtherInterface = "it needs a file descriptor of another interface";

struct ReplayedEntry {
  // How the replay makes an argument of the recorded one.
  struct Argument {
    enum class Kind : std::uint8_t {
      exported,    // memory for a handle for other processes
      process,     // a process id
      buffer,      // host memory
      registered,  // host memory that the call registers
      address,     // of a device
      other        // a handle, a structure, a pointer
    };
    Kind kind = Kind::other;
    std::uint8_t index = 0;
    std::size_t word = 0;
    const trace::Parameter *parameter = nullptr;
    const Buffer *buffer = nullptr;
  };

  std::vector<Argument> arguments{};  // without numbers, which are passed as they were recorded
  const char *why_not = nullptr;      // why its calls are not replayed; null: they are
  bool exports_handle = false;        // writes a handle for other processes to its first argument
  bool imports_handle = false;        // its second argument is such a handle, or a structure that has one
  bool enqueues_host_function = false;
  bool adds_host_node = false;
  bool adds_node = false;           // which may allocate memory
  bool sets_parameters = false;     // of a kernel, in bytes of unknown type
  bool creates_memory = false;      // or finds memory of a module
  bool changes_parts = false;       // of modules and libraries: finds them, or ends them
  bool only_names_memory = false;   // does not access the memory whose addresses it gets
  bool has_varying_values = false;  // which differ from run to run
  bool polls = false;
  bool gets_context = false, is_export_table = false;
};

const ReplayedEntry &replayed_entry(int slot);

}  // namespace cushim::replay
