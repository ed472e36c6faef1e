// SPDX-License-Identifier: Apache-2.0
// Statements with asynchronous copies, mbarrier objects and the shared memory of a cluster.
#include "statements.hpp"

namespace cushim::ptx::random {
namespace {

constexpr std::string_view own_line =
    "{.reg .b32 n, s, t; .reg .b64 m; mov.u32 t, %tid.x; mov.u32 s, scratch; mad.lo.u32 s, t, 16, s; ";

// Begins a block in which thread 0 has initialized the object `gate` for `count` arrivals; z: whether this is
// thread 0, s: the address of the thread's exchanged word.
std::string gate_begin(std::size_t count) {
  return joined(
      {"{.reg .pred z, w; .reg .b32 n, s, t, g; .reg .b64 k, m; mov.u32 t, %tid.x; setp.eq.u32 z, t, 0; "
       "mov.u32 g, gate; mov.u32 s, exchanged; mad.lo.u32 s, t, 8, s; @z mbarrier.init.shared::cta.b64 "
       "[g], ",
       decimal(count), "; @z fence.mbarrier_init.release.cluster; bar.sync 0; "});
}
std::string gate_end(std::string_view barrier) {
  return joined({" ", barrier, "; @z mbarrier.inval.shared::cta.b64 [g]; ", barrier, ";}"});
}
// Waits for the end of the first phase.
std::string gate_wait(Random &random) {
  const std::string name = "W" + decimal(random.bits() >> 32);
  return joined({name, ": mbarrier.", random.one_in(2) ? "try_wait" : "test_wait",
                 ".parity.shared::cta.b64 w, [g], 0; @!w bra ", name, "; "});
}

// All threads arrive, then read what another one has stored.
Statement gathered(Random &random) {
  const std::string d = any_register("i64", random), a = any_register("i64", random),
                    name = "W" + decimal(random.bits() >> 32);
  std::string text = gate_begin(block_threads);
  text += "st.shared.b64 [s], " + a + "; mbarrier.arrive.shared::cta.b64 k, [g]; ";
  if (random.one_in(2))
    text += joined({name, ": mbarrier.", random.one_in(2) ? "try_wait" : "test_wait",
                    ".shared::cta.b64 w, [g], k; @!w bra ", name, "; "});
  else
    text += gate_wait(random);
  text += joined({"xor.b32 n, t, ", decimal(random.below(64)),
                  "; mov.u32 s, exchanged; mad.lo.u32 s, n, 8, s; ld.shared.b64 ", d, ", [s];",
                  gate_end("bar.sync 0")});
  return {text, {{d, "i64"}}};
}

// Thread 0 copies some of its inputs to `scratch`; all threads wait for them.
Statement bulk_copy(Random &random) {
  const std::string d = any_register("i64", random), e = any_register("f64", random),
                    bytes = decimal(16 * (1 + random.below(16)));
  const std::string clear =
      "{.reg .b32 c; mov.u32 c, scratch; mad.lo.u32 c, t, 16, c; st.shared.v2.b64 [c], {1, 2};} ";
  return {joined({gate_begin(1), clear, "fence.proxy.async; bar.sync 0; mov.u32 n, scratch; add.u64 m, %in, ",
                  decimal(16 * random.below(8)), "; @z mbarrier.arrive.expect_tx.shared::cta.b64 k, [g], ",
                  bytes, "; @z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [n], [m], ",
                  bytes, ", [g]; ", gate_wait(random), "mad.lo.u32 n, t, 16, n; ld.shared.v2.b64 {", d, ", ",
                  e, "}, [n];", gate_end("bar.sync 0")}),
          {{d, "i64"}, {e, "f64"}}};
}

// Each thread arrives by the end of its own copy.
Statement noted_copy(Random &random) {
  const std::string d = any_register("i64", random);
  return {
      joined(
          {gate_begin(block_threads), "mov.u32 n, scratch; mad.lo.u32 n, t, 16, n; add.u64 m, %in, ",
           decimal(16 * random.below(24)),
           "; cp.async.cg.shared.global [n], [m], 16; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [g]; ",
           gate_wait(random), "xor.b32 n, t, ", decimal(random.below(64)),
           "; mov.u32 s, scratch; mad.lo.u32 s, n, 16, s; ld.shared.b64 ", d, ", [s+",
           random.one_in(2) ? "8" : "0", "];", gate_end("bar.sync 0")}),
      {{d, "i64"}}};
}

constexpr std::string_view cluster_barrier = "barrier.cluster.arrive; barrier.cluster.wait";
// Begins a block in which s is the address of the thread's exchanged word, t that of the other block.
constexpr std::string_view cluster_begin =
    "{.reg .b32 n, s, t; .reg .b64 m, o; mov.u32 n, %tid.x; mov.u32 s, exchanged; mad.lo.u32 s, n, 8, s; "
    "mov.u32 n, "
    "%cluster_ctarank; xor.b32 n, n, 1; mapa.shared::cluster.u32 t, s, n; ";

Statement cluster_load(Random &random) {
  const std::string d = any_register("i64", random), a = any_register("i64", random);
  const bool generic = random.one_in(2);
  return {joined({cluster_begin, "st.shared.b64 [s], ", a, "; ", cluster_barrier, "; ",
                  generic ? "cvt.u64.u32 o, s; cvta.shared.u64 m, o; mapa.u64 m, m, n; ld.b64 "
                          : "ld.shared::cluster.b64 ",
                  d, generic ? ", [m]; " : ", [t]; ", cluster_barrier, ";}"}),
          {{d, "i64"}}};
}

Statement cluster_store(Random &random) {
  const std::string d = any_register("i64", random), a = any_register("i64", random);
  static constexpr std::string_view operations[] = {
      "st.shared::cluster.b64", "red.shared::cluster.xor.b64", "red.shared::cluster.add.u64",
      "red.shared::cluster.max.s64", "red.shared::cluster.and.b64"};
  return {joined({cluster_begin, "st.shared.b64 [s], ", any_register("i64", random), "; ", cluster_barrier,
                  "; ", random.pick(operations), " [t], ", a, "; ", cluster_barrier, "; ld.shared.b64 ", d,
                  ", [s]; ", cluster_barrier, ";}"}),
          {{d, "i64"}}};
}

// Each thread stores to the other block, whose threads wait for all bytes.
Statement asynchronous_store(Random &random) {
  const std::string d = any_register("i64", random), a = any_register("i64", random);
  std::string text = gate_begin(1);
  return {
      joined({text, "@z mbarrier.arrive.expect_tx.shared::cta.b64 k, [g], ", decimal(8 * block_threads), "; ",
              cluster_barrier,
              ("; {.reg .b32 c, e, x; mov.u32 c, %cluster_ctarank; xor.b32 c, c, 1; mapa.shared::cluster.u32 "
               "e, s, "
               "c; mapa.shared::cluster.u32 x, g, c; "
               "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [e], "),
              a, ", [x];} ", gate_wait(random), "ld.shared.b64 ", d, ", [s];", gate_end(cluster_barrier)}),
      {{d, "i64"}}};
}

}  // namespace

Statement asynchronous_copy(Random &random) {
  const std::string d = any_register("i64", random), e = any_register("f64", random);
  const std::string from = decimal(16 * random.below(32));
  std::string copy;
  switch (random.below(4)) {
    case 0:
      copy = "cp.async.cg.shared.global [s], [m], 16; ";
      break;
    case 1:
      copy = random.one_in(2)
                 ? "cp.async.ca.shared.global [s], [m], 16, n; "
                 : "cp.async.ca.shared.global [s], [m], 8; cp.async.ca.shared.global [s+8], [m+8], 4; ";
      break;
    case 2:
      copy = "cp.async.ca.shared.global [s+8], [m], 8, n; ";
      break;
    default:
      copy = "cp.async.ca.shared.global [s+4], [m+4], 4; cp.async.ca.shared.global [s+12], [m], 4, n; ";
  }
  const bool small = contains(copy, "], 8, n"), tiny = contains(copy, "], 4, n");
  return {joined({own_line, "st.shared.v2.b64 [s], {3, 4}; add.u64 m, %in, ", from, "; and.b32 n, ",
                  any_register("i32", random),
                  tiny    ? ", 3; "
                  : small ? ", 7; "
                          : ", 15; ",
                  copy,
                  random.one_in(2) ? "cp.async.wait_all; " : "cp.async.commit_group; cp.async.wait_group 0; ",
                  "ld.shared.v2.b64 {", d, ", ", e, "}, [s];}"}),
          {{d, "i64"}, {e, "f64"}}};
}

Statement barrier_exchange(Random &random) {
  return one_of(random, {{1, bulk_copy}, {1, noted_copy}, {1, gathered}});
}

Statement cluster_exchange(Random &random) {
  return one_of(random, {{1, cluster_load}, {1, cluster_store}, {1, asynchronous_store}});
}

}  // namespace cushim::ptx::random
