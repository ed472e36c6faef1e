// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "handle.hpp"
#include "stream.hpp"

namespace cushim::sim {

struct Device;

struct Context : Object {
  static constexpr Kind kKind = Kind::context;
  Context() : Object(kKind) {}

  Device *device = nullptr;
  unsigned long id = 0;
  unsigned flags = 0;
  unsigned api_version = 3020;
  bool is_primary = false;
  CUresult fault = CUDA_SUCCESS;  // what all calls in it answer, since its device was lost
  bool is_alive = true;           // what a destroyed one leaves on threads' stacks answers 709
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  std::map<int, std::size_t> limits;
  std::set<const Context *> peers;  // whose memory it may use

  std::vector<Stream *> streams;  // that the program made
  std::unique_ptr<Stream> legacy;
  std::map<unsigned long, std::unique_ptr<Stream>> per_thread;  // by the thread's number

  // The work of destroyed streams that were busy.
  struct LeftOver {
    Work tail;
    bool is_blocking;
  };
  std::vector<LeftOver> left_over;

  // All that has been put into its streams.
  std::vector<Work> works() const;
};

}  // namespace cushim::sim
