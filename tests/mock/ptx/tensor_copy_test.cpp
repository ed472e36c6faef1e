// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. The expected bytes follow the parameters of
// cuTensorMapEncodeTiled() and PTX ISA, "Tensors".
#include <cushim/ptx/tensor_map.hpp>

#include <numeric>

#include "execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

constexpr std::uint32_t u8 = TensorMap::u8, u16 = TensorMap::u16, u32 = TensorMap::u32, s32 = TensorMap::s32,
                        u64 = TensorMap::u64, f32 = TensorMap::f32;
constexpr std::size_t tile_bytes = 16384;

// Returns a map of a dense tensor.
TensorMap map_of(std::uint64_t address, std::uint32_t format, std::uint64_t element,
                 const std::vector<std::uint32_t> &sizes, const std::vector<std::uint16_t> &box) {
  TensorMap map;
  map.set_address(address);
  map.set(TensorMap::format, format);
  map.set(TensorMap::rank, static_cast<std::uint32_t>(sizes.size() - 1));
  std::uint64_t stride = element;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    map.set(TensorMap::dimension(i), sizes[i] - 1);
    map.set(TensorMap::box(i), box[i] - 1u);
    stride *= sizes[i];
    if (i + 1 < sizes.size()) map.set_stride(i, stride);
  }
  return map;
}

// Returns a kernel of one thread that copies between global memory and a tile, which it reads from `tile`
// first and writes there at the end. `copies`: instructions with the registers %map, %s, %m and %x0 to %x4.
std::string kernel(std::string_view copies) {
  std::string text{testing::header};
  text +=
      R"(.visible .entry k(.param .align 64 .b8 p_map[128], .param .u64 tile, .param .u32 p_x0, .param .u32 p_x1,
    .param .u32 p_x2, .param .u32 p_x3, .param .u32 p_x4) {
  .reg .pred p; .reg .b32 v, i, s, m, x<5>; .reg .b64 y, z, map, state, global;
  .shared .align 1024 .b8 box[16384]; .shared .align 8 .b64 bar;
  mov.u64 map, p_map; cvta.param.u64 map, map; ld.param.u64 global, [tile]; mov.u32 s, box; mov.u32 m, bar;
  ld.param.u32 x0, [p_x0]; ld.param.u32 x1, [p_x1]; ld.param.u32 x2, [p_x2]; ld.param.u32 x3, [p_x3]; ld.param.u32 x4, [p_x4];
  mov.u32 i, 0;
IN: cvt.u64.u32 y, i; add.u64 y, y, global; ld.global.u32 v, [y]; add.u32 v, v, 0; add.u32 m, s, i;
  st.shared.u32 [m], v; add.u32 i, i, 4; setp.lt.u32 p, i, 16384; @p bra IN;
  mov.u32 m, bar; mbarrier.init.shared.b64 [m], 1;
)";
  text += copies;
  text += R"(
  mov.u32 i, 0;
OUT: add.u32 m, s, i; ld.shared.u32 v, [m]; cvt.u64.u32 y, i; add.u64 y, y, global; st.global.u32 [y], v;
  add.u32 i, i, 4; setp.lt.u32 p, i, 16384; @p bra OUT;
  ret; }
)";
  return text;
}

// Loads a box, and waits for `bytes` bytes.
std::string load_and_wait(int dimensions, std::size_t bytes) {
  std::string coordinates = "x0";
  for (int i = 1; i < dimensions; ++i) coordinates += ", x" + std::to_string(i);
  return "  mbarrier.arrive.expect_tx.shared.b64 state, [m], " + std::to_string(bytes) +
         ";\n  cp.async.bulk.tensor." + std::to_string(dimensions) +
         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [map, {" + coordinates +
         "}], [m];\nWAIT: mbarrier.try_wait.shared.b64 p, [m], state; @!p bra WAIT;\n";
}

std::string store_box(int dimensions, const std::string &reduction = "") {
  std::string coordinates = "x0";
  for (int i = 1; i < dimensions; ++i) coordinates += ", x" + std::to_string(i);
  return std::string{"  cp"} + (reduction.empty() ? "" : ".reduce") + ".async.bulk.tensor." +
         std::to_string(dimensions) + "d.global.shared::cta" + reduction + ".tile.bulk_group [map, {" +
         coordinates + "}], [s];\n  cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n";
}

struct TileRun {
  Loaded loaded;
  std::uint64_t tile = 0;
  explicit TileRun(const std::string &copies) : loaded(kernel(copies)) {
    EXPECT_EQ(loaded.refused, "");
    std::vector<std::uint8_t> pattern(tile_bytes);
    for (std::size_t i = 0; i < tile_bytes; ++i) pattern[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    tile = loaded.memory.add(pattern);
  }
  LaunchResult start(const TensorMap &map, std::array<std::int32_t, 5> at) {
    loaded.limits.instructions = 1'000'000;
    return loaded.run("k", {}, map, tile, at[0], at[1], at[2], at[3], at[4]);
  }
  template <class T>
  std::vector<T> box() {
    return loaded.memory.get<T>(tile, tile_bytes / sizeof(T));
  }
};

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

TEST(TensorCopy, LoadsABoxOfEachNumberOfDimensions) {
  const std::vector<std::uint32_t> sizes{8, 5, 4, 3, 3};
  const std::vector<std::uint16_t> box{8, 3, 2, 2, 2};
  for (std::size_t rank = 1; rank <= 5; ++rank) {
    SCOPED_TRACE(rank);
    std::size_t elements = 1;
    for (std::size_t i = 0; i < rank; ++i) elements *= box[i];
    TileRun run(load_and_wait(static_cast<int>(rank), elements * 4));
    const auto tensor = counted(8 * 5 * 4 * 3 * 3);
    const auto address = run.loaded.memory.add(tensor);
    // The box is partly outside the tensor: before it in dimension 0, beyond it in the others.
    const std::array<std::int32_t, 5> at{-4, 3, 3, 2, 2};
    const TensorMap map = map_of(address, u32, 4, {sizes.begin(), sizes.begin() + static_cast<long>(rank)},
                                 {box.begin(), box.begin() + static_cast<long>(rank)});
    const LaunchResult result = run.start(map, at);
    ASSERT_TRUE(result) << name(result.fault.kind) << " " << result.fault.message;
    const auto given = run.box<std::uint32_t>();
    for (std::size_t i = 0; i < elements; ++i) {
      std::size_t rest = i, index = 0, stride = 1;
      bool inside = true;
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t x = at[d] + static_cast<std::int64_t>(rest % box[d]);
        rest /= box[d];
        inside = inside && x >= 0 && x < sizes[d];
        if (inside) index += static_cast<std::size_t>(x) * stride;
        stride *= sizes[d];
      }
      EXPECT_EQ(given[i], inside ? tensor[index] : 0u) << i;
    }
  }
}

TEST(TensorCopy, ExchangesTheChunksOfEachSwizzle) {
  for (const unsigned mode : {1u, 2u, 3u}) {
    const std::uint32_t span = 16u << mode;  // 32, 64 or 128 bytes
    for (const std::uint32_t inner : {span, 16u}) {
      SCOPED_TRACE(std::to_string(span) + " " + std::to_string(inner));
      TileRun run(load_and_wait(2, inner * 16));
      std::vector<std::uint8_t> tensor(128 * 16);
      std::iota(tensor.begin(), tensor.end(), std::uint8_t{3});
      TensorMap map = map_of(run.loaded.memory.add(tensor), u8, 1, {128, 16},
                             {static_cast<std::uint16_t>(inner), std::uint16_t{16}});
      map.set(TensorMap::swizzle, mode);
      ASSERT_TRUE(run.start(map, {}));
      const auto given = run.box<std::uint8_t>();
      for (std::uint32_t line = 0; line < 16; ++line)
        for (std::uint32_t byte = 0; byte < inner; ++byte) {
          // The pattern repeats after 8 lines of 128 bytes.
          const std::uint32_t line_of_128 = line * span / 128 % 8,
                              chunk = byte / 16 ^ (line_of_128 & (span / 16 - 1));
          EXPECT_EQ(given[line * span + chunk * 16 + byte % 16], tensor[line * 128 + byte])
              << line << " " << byte;
        }
    }
  }
}

TEST(TensorCopy, TakesEachSecondElementOfADimension) {
  TileRun run(load_and_wait(2, 4 * 4 * 3));
  const auto tensor = counted(4 * 16);
  TensorMap map = map_of(run.loaded.memory.add(tensor), u32, 4, {4, 16}, {4, 5});
  map.set(TensorMap::element_stride(1), 2 - 1);
  ASSERT_TRUE(run.start(map, {0, 3}));
  const auto given = run.box<std::uint32_t>();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(given[i], tensor[(3 + i / 4 * 2) * 4 + i % 4]);
}

TEST(TensorCopy, StoresThePartOfABoxThatIsInsideTheTensor) {
  for (const std::uint8_t swizzle : {std::uint8_t{0}, std::uint8_t{2}}) {
    TileRun run(store_box(2));
    const auto box = run.box<std::uint16_t>();
    const std::vector<std::uint16_t> tensor(40 * 6, 9999);
    const auto address = run.loaded.memory.add(tensor);
    TensorMap map = map_of(address, u16, 2, {40, 6}, {32, 4});
    map.set(TensorMap::swizzle, swizzle);
    ASSERT_TRUE(run.start(map, {24, 3}));
    const auto given = run.loaded.memory.get<std::uint16_t>(address, tensor.size());
    for (std::size_t y = 0; y < 6; ++y)
      for (std::size_t x = 0; x < 40; ++x) {
        const std::size_t line = y - 3, column = x - 24;
        const bool inside = y >= 3 && x >= 24;
        const std::size_t chunk = column / 8 ^ (swizzle == 0 ? 0 : line / 2 % 4);
        EXPECT_EQ(given[y * 40 + x], inside ? box[line * 32 + chunk * 8 + column % 8] : 9999)
            << x << " " << y;
      }
  }
}

TEST(TensorCopy, ReducesElements) {
  const auto reduced = [](const char *operation, std::uint32_t type, auto was, auto combine) {
    SCOPED_TRACE(operation);
    using T = decltype(was);
    TileRun run(store_box(1, std::string{"."} + operation));
    const auto box = run.box<T>();
    const std::vector<T> tensor(64, was);
    const auto address = run.loaded.memory.add(tensor);
    const LaunchResult result = run.start(map_of(address, type, sizeof(T), {64}, {32}), {16});
    ASSERT_TRUE(result) << result.fault.message;
    const auto given = run.loaded.memory.get<T>(address, 64);
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(given[i], i >= 16 && i < 48 ? combine(was, box[i - 16]) : was) << i;
  };
  const std::uint32_t word = 0x80706050;
  reduced("add", u32, word, [](auto a, auto b) { return a + b; });
  reduced("and", u32, word, [](auto a, auto b) { return a & b; });
  reduced("or", u32, word, [](auto a, auto b) { return a | b; });
  reduced("xor", u64, std::uint64_t{word} << 20, [](auto a, auto b) { return a ^ b; });
  reduced("min", s32, std::int32_t{1000}, [](auto a, auto b) { return std::min(a, b); });
  reduced("max", u64, std::uint64_t{word} << 32, [](auto a, auto b) { return std::max(a, b); });
  reduced("inc", u32, word, [](auto a, auto b) { return a >= b ? 0 : a + 1; });
  reduced("dec", u32, word, [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; });
}

TEST(TensorCopy, MulticastsToTheBlocksOfACluster) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .align 64 .b8 p_map[128], .param .u64 out) {
  .reg .pred p, q; .reg .b16 mask; .reg .b32 v, t, s, m, r; .reg .b64 y, z, map, state;
  .shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;
  mov.u64 map, p_map; cvta.param.u64 map, map; mov.u32 s, box; mov.u32 m, bar; mov.u32 t, %tid.x;
  mov.u32 r, %cluster_ctarank; setp.eq.u32 p, t, 0; @p mbarrier.init.shared.b64 [m], 1;
  @p mbarrier.arrive.expect_tx.shared.b64 state, [m], 128; mov.u16 mask, 3;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  setp.eq.and.u32 q, r, 1, p;
  @q cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [s], [map, {t}], [m], mask;
WAIT: mbarrier.try_wait.parity.shared.b64 p, [m], 0; @!p bra WAIT;
  mad.lo.u32 s, t, 4, s; ld.shared.u32 v, [s]; mad.lo.u32 t, r, 32, t; mul.wide.u32 y, t, 4; ld.param.u64 z, [out];
  add.u64 z, z, y; st.global.u32 [z], v; ret; }
)";
  Loaded loaded(text);
  ASSERT_EQ(loaded.refused, "");
  const auto tensor = counted(32);
  const auto address = loaded.memory.add(tensor), out = loaded.memory.add(256);
  LaunchShape shape;
  shape.block.x = 32;
  shape.grid.x = shape.cluster.x = 2;
  const LaunchResult result = loaded.run("k", shape, map_of(address, u32, 4, {32}, {32}), out);
  ASSERT_TRUE(result) << name(result.fault.kind) << " " << result.fault.message;
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(loaded.memory.get<std::uint32_t>(out, 64)[i], i % 32 + 1);
}

TEST(TensorCopy, AMapThatDoesNotFitTheCopyIsAFault) {
  const auto fault = [](const TensorMap &map, const std::string &copies) {
    TileRun run(copies);
    TensorMap placed = map;
    placed.set_address(run.loaded.memory.add(4096));
    return run.start(placed, {}).fault;
  };
  const std::string load = load_and_wait(1, 64);
  const TensorMap good = map_of(0, u32, 4, {64}, {16});
  EXPECT_EQ(fault(good, load).kind, FaultKind::none);
  const auto refused = [&](auto change, std::string_view reason, const std::string &copies) {
    TensorMap map = good;
    change(map);
    const Fault found = fault(map, copies);
    EXPECT_EQ(found.kind, FaultKind::illegal_instruction) << reason;
    EXPECT_NE(found.message.find(reason), std::string::npos) << found.message;
  };
  refused([](TensorMap &map) { map.set(TensorMap::rank, 1); }, "another number of dimensions", load);
  refused([](TensorMap &map) { map.set(TensorMap::is_im2col, 1); }, "not tiled", load);
  refused([](TensorMap &map) { map.set(TensorMap::interleave, 1); }, "layout", load);
  refused([](TensorMap &map) { map.set(TensorMap::format, 11); }, "data type", load);
  refused([](TensorMap &map) { map.set(TensorMap::box(0), 2); }, "box", load);
  refused([](TensorMap &map) { map.set(TensorMap::format, f32); }, "reduction", store_box(1, ".min"));
}

TEST(TensorCopy, AMisalignedBoxIsAFault) {
  TileRun run("  add.u32 s, s, 64;\n" + load_and_wait(1, 64));
  const auto address = run.loaded.memory.add(4096);
  EXPECT_EQ(run.start(map_of(address, u32, 4, {64}, {16}), {}).fault.kind, FaultKind::misaligned_address);
}

TEST(TensorCopy, ABoxThatBeginsBetweenMultiplesOf16BytesIsAFault) {
  TileRun run(load_and_wait(1, 64));
  const auto address = run.loaded.memory.add(4096);
  EXPECT_EQ(run.start(map_of(address, u32, 4, {64}, {16}), {2}).fault.kind, FaultKind::illegal_instruction);
}

TEST(TensorCopy, AStoreThatBeginsBeforeTheTensorIsAFault) {
  TileRun run(store_box(1));
  const auto address = run.loaded.memory.add(4096);
  EXPECT_EQ(run.start(map_of(address, u32, 4, {64}, {16}), {-4}).fault.kind, FaultKind::illegal_instruction);
}

TEST(TensorCopy, ATensorBeyondMemoryIsAFault) {
  TileRun run(load_and_wait(1, 64));
  const auto address = run.loaded.memory.add(32);
  EXPECT_EQ(run.start(map_of(address, u32, 4, {64}, {16}), {}).fault.kind, FaultKind::illegal_address);
}

TEST(TensorCopy, RefusesOtherModesAndWrongCoordinates) {
  const auto refused = [](const std::string &copy) { return Loaded(kernel(copy)).refused; };
  EXPECT_NE(
      refused("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [map, "
              "{x0}], [m];")
          .find("another number of dimensions"),
      std::string::npos);
  EXPECT_NE(
      refused("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [map, "
              "{x0, x1, x2, x3}], [m], {v};")
          .find("another number of offsets"),
      std::string::npos);
}

// As an H200: bits beyond a field are ignored.
TEST(TensorCopy, FieldsOfAMapAreReplaced) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 map) {
  .reg .b64 m, v; .reg .b32 w;
  ld.param.u64 m, [map]; mov.u64 v, 0x1234567890;
  tensormap.replace.tile.global_address.global.b1024.b64 [m], v;
  tensormap.replace.tile.global_stride.global.b1024.b64 [m], 1, v;
  mov.u32 w, 12; tensormap.replace.tile.rank.global.b1024.b32 [m], w;
  tensormap.replace.tile.box_dim.global.b1024.b32 [m], 2, w;
  tensormap.replace.tile.global_dim.global.b1024.b32 [m], 3, w;
  tensormap.replace.tile.element_stride.global.b1024.b32 [m], 4, w;
  tensormap.replace.tile.elemtype.global.b1024.b32 [m], 12;
  tensormap.replace.tile.interleave_layout.global.b1024.b32 [m], 2;
  tensormap.replace.tile.swizzle_mode.global.b1024.b32 [m], 3;
  tensormap.replace.tile.fill_mode.global.b1024.b32 [m], 1;
  ret; }
)";
  Loaded loaded(text);
  ASSERT_EQ(loaded.refused, "");
  const auto address = loaded.memory.add(128);
  ASSERT_TRUE(loaded.run("k", {}, address));
  const auto words = loaded.memory.get<std::uint32_t>(address, 32);
  const std::uint32_t expected[] = {0x34567890, 0x12, 0x1f440, 0,  0x23456789, 0,       0,      0x10,
                                    0,          0,    0,       11, 0,          3 << 12, 11 << 8};
  for (std::size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(words[i], i < std::size(expected) ? expected[i] : 0u) << i;
}

TEST(TensorCopy, AMapThatIsMadeInSharedMemoryIsCopiedToGlobalMemory) {
  std::string text{testing::header};
  text += R"(.visible .entry k(.param .u64 map) {
  .reg .b64 m, v; .reg .b32 s, i;
  .shared .align 128 .b32 made[32];
  ld.param.u64 m, [map]; mov.u64 v, 0x1234567890;
  mov.u32 s, made; mov.u32 i, %tid.x; mad.lo.u32 i, i, 4, s;
  st.shared.u32 [i], 0;
  bar.warp.sync 0xffffffff;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [s], v;
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [s], 128;
  fence.proxy.tensormap::generic.acquire.gpu [m], 128;
  ret; }
)";
  const auto words = testing::words_stored_by(text, 32, 32);
  for (std::size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(words[i], i == 0 ? 0x34567890u : i == 1 ? 0x12u : 0u) << i;
}

TEST(TensorCopy, PrefetchesHaveNoEffect) {
  TileRun run("  prefetch.tensormap [map]; cp.async.bulk.prefetch.tensor.1d.L2.global.tile [map, {x0}];\n");
  EXPECT_TRUE(run.start({}, {}));
}

}  // namespace
}  // namespace cushim::ptx
