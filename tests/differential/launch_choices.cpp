// SPDX-License-Identifier: Apache-2.0
// Launches, attributes of functions and occupancy.
#include "graph_objects.hpp"

namespace differential {
namespace {

struct Shape {
  unsigned grid[3], block[3], shared;
};
Shape a_shape(Walk &w) {
  Shape shape{{1, 1, 1}, {32, 1, 1}, 0};
  switch (w.dice.below(12)) {
    case 0:
      shape.grid[w.dice.below(3)] = w.dice.one_of({0U, 2U, 4U, 65535U, 65536U});
      break;
    case 1:
      shape.block[0] = w.dice.one_of({0U, 64U, 65U, 1024U, 1025U});
      break;
    case 2:
      shape.block[1 + w.dice.below(2)] = w.dice.one_of({0U, 2U, 32U, 33U, 65U});
      break;
    case 3:
      shape.shared = w.dice.one_of({1024U, 48'128U, 49'152U, 49'153U, 100'000U, 232'448U, 232'449U});
      break;
    case 4:
      shape.grid[0] = 2;
      break;
    case 5:
      shape.grid[0] = 4;
      shape.grid[1] = 2;
      break;
    default:
      break;
  }
  // A large grid takes long.
  if (shape.grid[0] > 4 && !w.dice.once_in(6)) shape.grid[0] = 3;
  return shape;
}
std::string text_of(const Shape &s) {
  return fmt::format("{} {} {}, {} {} {}, {}", s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                     s.block[2], s.shared);
}

// The arguments that all launches have.
struct Launch {
  unsigned name = 0;  // of the kernel
  Argument<CUfunction> function{};
  Shape shape{};
  LaunchArguments arguments{};
  Argument<CUstream> stream{};
};
void choose_launch(Walk &w, Launch &launch) {
  launch.function = a_function(w, launch.name);
  launch.shape = a_shape(w);
  fill_arguments(w, launch.name, launch.arguments);
  launch.stream = a_graph_stream(w);
}

// Packs the parameters, as CU_LAUNCH_PARAM_BUFFER_POINTER takes them.
struct Packed {
  alignas(16) std::array<unsigned char, 48> bytes{};
  std::size_t size = 0;
};
void pack(unsigned name, const LaunchArguments &from, Packed &to) {
  const std::string kernel = kernel_names[name];
  if (kernel == "mixed") {
    std::memcpy(to.bytes.data(), &from.small, 1);
    std::memcpy(to.bytes.data() + 8, &from.to, 8);
    std::memcpy(to.bytes.data() + 16, &from.pair, 16);
    std::memcpy(to.bytes.data() + 32, &from.real, 4);
    to.size = 36;
  } else {
    std::memcpy(to.bytes.data(), &from.to, 8);
    std::memcpy(to.bytes.data() + 8, &from.value, 4);
    to.size = kernel == "none" ? 0 : kernel == "scale" ? 8 : 12;
  }
}

void launch(Walk &w) {
  Launch chosen;
  choose_launch(w, chosen);
  const Shape &s = chosen.shape;
  const unsigned way = w.dice.below(24);
  Packed packed;
  pack(chosen.name, chosen.arguments, packed);
  if (way == 2) packed.size += 4;
  if (way == 3 && packed.size > 4) packed.size -= 4;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed.bytes.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &packed.size, CU_LAUNCH_PARAM_END};
  const bool is_packed = way <= 3, has_parameters = way >= 3 && way != 4;
  const auto parameters = argument(has_parameters ? chosen.arguments.pointers.data() : nullptr,
                                   has_parameters ? chosen.arguments.text : "nullptr");
  const auto more =
      argument(is_packed ? extra : nullptr, is_packed ? fmt::format("packed {}", packed.size) : "nullptr");
  w.call(
      "cuLaunchKernel", DIFFERENTIAL_SYMBOL(cuLaunchKernel),
      [&](CUfunction f, int, CUstream in, void **p, void **e) {
        return driver().cuLaunchKernel(f, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
                                       s.shared, in, p, e);
      },
      chosen.function, Argument<int>{0, text_of(s)}, chosen.stream, parameters, more);
  settle(w);
}

void launch_cooperatively(Walk &w) {
  Launch chosen;
  choose_launch(w, chosen);
  const Shape &s = chosen.shape;
  w.call(
      "cuLaunchCooperativeKernel", DIFFERENTIAL_SYMBOL(cuLaunchCooperativeKernel),
      [&](CUfunction f, int, CUstream in, void **p) {
        return driver().cuLaunchCooperativeKernel(f, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                                                  s.block[2], s.shared, in, p);
      },
      chosen.function, Argument<int>{0, text_of(s)}, chosen.stream,
      argument(chosen.arguments.pointers.data(), chosen.arguments.text));
  settle(w);
}

std::string choose_attribute(Walk &w, CUlaunchAttribute &attribute) {
  attribute = {};
  auto &value = attribute.value;
  const auto set = [&](const char *name, CUlaunchAttributeID id, auto &member, auto number) {
    attribute.id = id;
    member = static_cast<std::remove_reference_t<decltype(member)>>(number);
    return fmt::format("{} {}", name, static_cast<int>(number));
  };
  switch (w.dice.below(14)) {
    case 0:
    case 1:
    case 2: {
      attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      const unsigned x = w.dice.one_of({1U, 2U, 2U, 4U, 3U, 0U, 8U, 9U, 16U}),
                     y = w.dice.one_of({1U, 1U, 1U, 2U, 0U});
      value.clusterDim.x = x;
      value.clusterDim.y = y;
      value.clusterDim.z = 1;
      return fmt::format("cluster {} {}", x, y);
    }
    case 3:
    case 4:
      return set("cooperative", CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value.cooperative, w.dice.below(3));
    case 5:
      return set("priority", CU_LAUNCH_ATTRIBUTE_PRIORITY, value.priority,
                 static_cast<int>(w.dice.below(12)) - 8);
    case 6:
      return set("programmatic", CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                 value.programmaticStreamSerializationAllowed, w.dice.below(3));
    case 7:
      return set("scheduling", CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                 value.clusterSchedulingPolicyPreference, w.dice.below(4));
    case 8:
      return set("domain", CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, value.memSyncDomain, w.dice.below(3));
    case 9:
      return set("carveout", CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, value.sharedMemCarveout,
                 w.dice.one_of<unsigned>({0, 50, 100, 101}));
    case 10:
      attribute.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
      value.preferredClusterDim.x = w.dice.one_of({1U, 2U, 4U, 0U});
      value.preferredClusterDim.y = value.preferredClusterDim.z = 1;
      return fmt::format("preferred {}", value.preferredClusterDim.x);
    case 11:
      attribute.id = static_cast<CUlaunchAttributeID>(w.dice.one_of({20U, 99U, 3U}));
      return fmt::format("attribute {}", static_cast<int>(attribute.id));
    default:
      attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
      return "ignored";
  }
}

struct Config {
  CUlaunchConfig value{};
  std::array<CUlaunchAttribute, 3> attributes{};
  std::string text;
};
void choose_config(Walk &w, Config &config) {
  const Shape s = a_shape(w);
  config.value = {s.grid[0],  s.grid[1], s.grid[2], s.block[0], s.block[1],
                  s.block[2], s.shared,  nullptr,   nullptr,    0};
  config.text = text_of(s);
  const unsigned count = w.dice.below(4);
  for (unsigned i = 0; i < count; ++i) config.text += "; " + choose_attribute(w, config.attributes[i]);
  config.value.attrs = config.attributes.data();
  config.value.numAttrs = count;
}

void launch_with_attributes(Walk &w) {
  unsigned name = 0;
  auto function = a_function(w, name);
  if (w.dice.once_in(5)) {
    const GraphObjects &o = objects(w);
    for (unsigned i = 0; i < o.k.size(); ++i)
      if (o.k[i].handle != nullptr) {
        function = {reinterpret_cast<CUfunction>(o.k[i].handle), fmt::format("k[{}]", i)};
        name = o.k[i].name;
      }
  }
  Config config;
  choose_config(w, config);
  LaunchArguments with;
  fill_arguments(w, name, with);
  const auto stream = a_graph_stream(w);
  config.value.hStream = stream.value;
  config.text += "; " + stream.text;
  const bool is_null = w.dice.once_in(60);
  CALL(w, cuLaunchKernelEx, argument<const CUlaunchConfig *>(is_null ? nullptr : &config.value, config.text),
       function, argument(with.pointers.data(), with.text), argument<void **>(nullptr, "nullptr"));
  settle(w);
}

void function_attribute(Walk &w) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  const auto which = static_cast<CUfunction_attribute>(w.dice.below(18));
  Result<int> value("value");
  if (which == CU_FUNC_ATTRIBUTE_NUM_REGS) return;
  if (CALL(w, cuFuncGetAttribute, value.argument(), argument(which, std::to_string(which)), function) ==
      CUDA_SUCCESS)
    w.also_number(value);
}

void set_function_attribute(Walk &w) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  const auto which = static_cast<CUfunction_attribute>(w.dice.once_in(3) ? 8 : w.dice.below(18));
  const int to = w.dice.one_of({0, 1, 2, 1024, 49152, 60000, 232448, 232449, -1, -2, 50, 100, 101});
  CALL(w, cuFuncSetAttribute, function, argument(which, std::to_string(which)), integer(to));
}

void of_function(Walk &w) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  CUmodule module = nullptr;
  Result<CUfunctionLoadingState> state("state");
  switch (w.dice.below(8)) {
    case 0: {
      const unsigned config = w.dice.below(5);
      CALL(w, cuFuncSetCacheConfig, function,
           argument(static_cast<CUfunc_cache>(config), std::to_string(config)));
      return;
    }
    case 1: {
      const unsigned config = w.dice.below(4);
      CALL(w, cuFuncSetSharedMemConfig, function,
           argument(static_cast<CUsharedconfig>(config), std::to_string(config)));
      return;
    }
    case 2:
      if (CALL(w, cuFuncGetModule, argument(&module, "&module"), function) == CUDA_SUCCESS) {
        const GraphObjects &o = objects(w);
        std::string found = module == nullptr ? "null" : "another";
        for (unsigned i = 0; i < 3; ++i)
          if (module != nullptr && o.modules[i].handle == module) found = std::to_string(i);
        w.also(found);
      }
      return;
    case 3:
      return also_name_from(w, [&](auto text) { return CALL(w, cuFuncGetName, text, function); });
    case 4:
      return also_parameter_from(w, [&](auto... at) { return CALL(w, cuFuncGetParamInfo, function, at...); });
    case 5:
    case 6:
      if (CALL(w, cuFuncIsLoaded, state.argument(), function) == CUDA_SUCCESS)
        w.also(std::to_string(static_cast<int>(state.value)));
      return;
    default:
      CALL(w, cuFuncLoad, function);
  }
}

void occupancy(Walk &w) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  const int block = w.dice.one_of({32, 64, 100, 128, 256, 512, 1024, 1025, 0, -1, 33});
  const auto shared = w.dice.one_of<std::size_t>({0, 1024, 16384, 49152, 49153, 100000, 232448, 300000});
  Result<int> blocks("blocks"), size("size");
  Result<std::size_t> room("room");
  Config config;
  switch (w.dice.below(7)) {
    case 0:
    case 1:
      if (CALL(w, cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks.argument(), function, integer(block),
               bytes(shared)) == CUDA_SUCCESS)
        w.also_number(blocks);
      return;
    case 2: {
      const auto flags = number(w.dice.below(3));
      if (CALL(w, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks.argument(), function,
               integer(block), bytes(shared), flags) == CUDA_SUCCESS)
        w.also_number(blocks);
      return;
    }
    case 3: {
      const auto count = integer(w.dice.one_of({1, 2, 4, 32, 33, 0, -1}));
      if (CALL(w, cuOccupancyAvailableDynamicSMemPerBlock, room.argument(), function, count,
               integer(block)) == CUDA_SUCCESS)
        w.also_number(room);
      return;
    }
    case 4: {
      const auto limit = integer(w.dice.one_of({0, 256, 2000, -1}));
      if (CALL(w, cuOccupancyMaxPotentialBlockSize, blocks.argument(), size.argument(), function,
               Argument<CUoccupancyB2DSize>{nullptr, "nullptr"}, bytes(shared), limit) == CUDA_SUCCESS)
        w.also(fmt::format("{} {}", blocks.value, size.value));
      return;
    }
    case 5:
      choose_config(w, config);
      if (CALL(w, cuOccupancyMaxPotentialClusterSize, size.argument(), function,
               argument<const CUlaunchConfig *>(&config.value, config.text)) == CUDA_SUCCESS)
        w.also_number(size);
      return;
    default:
      choose_config(w, config);
      if (CALL(w, cuOccupancyMaxActiveClusters, size.argument(), function,
               argument<const CUlaunchConfig *>(&config.value, config.text)) == CUDA_SUCCESS)
        w.also_number(size);
  }
}

// The launch calls of CUDA 3.
void launch_in_the_old_way(Walk &w) {
  unsigned name = 0;
  const auto function = a_function(w, name);
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuFuncSetBlockShape, function, integer(w.dice.one_of({32, 1, 0, 1024, 1025})), integer(1),
           integer(1));
      return;
    case 1:
      CALL(w, cuFuncSetSharedSize, function, number(w.dice.one_of({0U, 1024U, 49'152U, 60'000U})));
      return;
    case 2:
      CALL(w, cuParamSetSize, function, number(w.dice.one_of({0U, 12U, 8U, 5000U})));
      return;
    case 3:
      CALL(w, cuParamSeti, function, integer(8), number(77));
      return;
    default: {
      auto place = a_place(w);
      CALL(w, cuParamSetv, function, integer(0), Argument<void *>{&place.value, place.text}, number(8));
    }
  }
}

}  // namespace

Choices launch_choices() {
  return Choices({
      {12, launch},
      {2, launch_cooperatively},
      {6, launch_with_attributes},
  });
}

Choices function_choices() {
  return Choices({
      {5, function_attribute},
      {5, set_function_attribute},
      {6, of_function},
      {6, occupancy},
      {1, launch_in_the_old_way},
  });
}

}  // namespace differential
