// SPDX-License-Identifier: Apache-2.0
// Replays one call of a recording.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/replay/player.hpp>
#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "compare.hpp"
#include "descriptors.hpp"
#include "mapping.hpp"
#include "option_values.hpp"
#include "played_functions.hpp"
#include "pointees.hpp"
#include "replayed_entry.hpp"

namespace cushim::replay {

// Host memory, in pieces that exist as long as this object or until reset().
class HostMemory {
 public:
  // Returns zeroed memory. Throws std::bad_alloc.
  char *allocate(std::uint64_t size);
  // Returns memory at the same place in its page as the address.
  char *allocate_like(std::uint64_t address, std::uint64_t size);
  // Ends all pieces. Later pieces may have their memory.
  void reset();

 private:
  struct Free {
    void operator()(char *memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<char[], Free> chunk_;  // for small pieces
  std::size_t used_ = 0;                 // of the chunk
  std::vector<std::unique_ptr<char[], Free>> others_;
};

// Memory that the calls of a thread use one after the other.
struct Scratch {
  HostMemory memory{};
  std::vector<std::uint64_t> words{};
};

// The items with the bytes that host functions wrote, by RecordedCall::begin of the call that enqueued the
// function.
using RecordedFunctions = std::map<std::uint64_t, std::vector<const Item *>>;

inline constexpr const char *kLacksHostNode = "what the host function of a graph does is not recorded";

// The state that all calls of a replay share.
struct Replay {
  int recorded_process = 0;
  Mapping mapping{};
  HostMemory kept{};
  RecordedFunctions recorded_functions{};
  PlayedFunctions functions{};
  Descriptors descriptors{};
  // Waits until all calls have begun that began before this count of begins and ends.
  std::function<void(std::uint64_t)> wait_for{};
};

// Returns whether only the driver can interpret objects of the type, which may contain its addresses.
bool is_opaque(const trace::Type &type);

class PlayedCall {
 public:
  // No other call may use the scratch memory while this exists.
  PlayedCall(const RecordedCall &call, Replay &replay, Scratch &scratch)
      : call_(call),
        entry_(replayed_entry(call.slot)),
        replay_(replay),
        mapping_(replay.mapping),
        kept_(replay.kept),
        own_(scratch.memory),
        words_(scratch.words) {
    own_.reset();
    words_.assign(call.words.begin(), call.words.end());
  }

  // Makes the arguments. Returns the reason if that is not possible.
  std::optional<std::string> prepare();
  // Returns why the call is only partly replayed; empty if it is wholly replayed.
  const std::string &lacks() const noexcept { return lacks_; }
  CUresult make(cushim::Driver &driver) const;
  // Returns whether the call that was made had no current context although the recorded one had.
  bool lacks_context(CUresult result) const;
  // Compares the call with the recording, and adds the objects that it created to the mapping.
  std::optional<Difference> finish(CUresult result, bool compares_values);

 private:
  std::optional<std::string> prepare_argument(const ReplayedEntry::Argument &argument);
  // Keeps the file descriptor that the call exported.
  void keep_exported() const;
  // Replaces the file descriptor that the call imports. Returns the reason if this process did not export it.
  std::optional<std::string> replace_imported();
  int recorded_descriptor() const;
  std::optional<std::string> provide(const Buffer &buffer, std::uint64_t address);
  std::optional<std::string> provide_data(const Buffer &buffer, std::uint64_t address, std::uint64_t size);
  // Provides the memory of the host that an operand of a batch of copies is, and writes its address.
  std::optional<std::string> provide_operand(const Buffer &buffer, std::uint64_t offset, char *address);
  std::optional<std::string> provide_objects(const Buffer &buffer, std::uint64_t size);
  // Returns an array of pointers to the parameters that an item has; null if it is damaged.
  char *make_parameters(std::string_view item);
  char *make_launch_options(std::string_view bytes);
  // Returns whether the call may access the memory whose addresses it gets.
  bool accesses_memory() const noexcept { return call_.result == CUDA_SUCCESS && !entry_.only_names_memory; }
  std::optional<std::string> provide_options(const Buffer &buffer);
  char *make_texts(std::string_view rest, std::uint64_t count);
  char *make_addresses(std::string_view rest);
  std::optional<Unequal> compare_options(const Buffer &buffer, const Item &item) const;
  std::optional<Difference> compare_options_of_failure() const;
  // Returns an array of pointers to memory for each value.
  char *make_attribute_values(std::string_view item);
  // The same for a call that failed, whose values are not compared.
  char *make_unread_values(std::uint64_t count);
  // Provides the memory that pointers in a structure point to, and sets the pointers to null so that
  // Mapping::replace() ignores them. `offset` is that of the structure in the argument's memory.
  std::optional<std::string> provide_pointees(const Buffer &buffer, char *structure, std::uint64_t offset);
  std::optional<std::string> provide_pointee(const Pointee &pointee, const Item *item, char *&to);
  void set_pointers();
  std::optional<Difference> compare_rows() const;
  // Compares the bodies of a conditional node, and adds them to the mapping.
  std::optional<Difference> compare_handles_made();
  // Writes what the host had written to pinned, registered and managed memory.
  void set_host_memory() const;
  std::optional<Difference> compare_host_memory() const;
  // Replaces the host function that the call enqueues.
  void set_host_function();
  // Replaces the handles and the host function of a node that is added by its type: unions are not described.
  void replace_node(const trace::Type &type, char *object);
  char *host_memory_of(const Item &item) const;
  char *allocate(std::uint64_t size) { return own_.allocate(size); }

  void set(std::size_t argument, const void *address);
  std::uint64_t size_of_buffer(const Buffer &buffer) const;
  void add_memory();
  // Adds the handle of a function, kernel or reference that the call found in a module or library, or ends
  // those of a module, library or context that the call ended.
  void follow_parts();
  // Adds the memory of the allocation node that the call added to a graph.
  void add_memory_of_node();
  // Ends the memory that the call freed.
  void end_memory();
  // Replaces an opaque object that the call reads. Returns false if no call returned it and the driver may
  // find addresses of the recorded process in it.
  bool replace_opaque(std::span<char> object) const;
  std::optional<Difference> compare_completed_copies() const;
  std::optional<Unequal> compare_attribute_values(std::string_view item);
  std::optional<Difference> compare_buffer(const Buffer &buffer, const Item &item, bool compares_values);

  const RecordedCall &call_;
  const ReplayedEntry &entry_;
  Replay &replay_;
  Mapping &mapping_;
  HostMemory &kept_;
  HostMemory &own_;
  std::vector<std::uint64_t> &words_;
  std::string lacks_;
  // A pointer in a structure, and its new value.
  struct Pointer {
    char *at;
    const char *value;
  };
  std::vector<Pointer> pointers_;
  // Rows that the call writes, with the item that has their recorded bytes.
  struct Rows {
    HostRows rows;
    const Item *item;
  };
  std::vector<Rows> rows_;
};

}  // namespace cushim::replay
