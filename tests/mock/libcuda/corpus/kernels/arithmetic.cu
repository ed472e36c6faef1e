// SPDX-License-Identifier: Apache-2.0
// Arithmetic whose bits depend on what ptxas makes of it: contracted products and quotients, the order of NaN
// operands, and instructions that it replaces by functions.
#include "corpus.cuh"

// mma.m8n8k4 on f16 with all types of c and d.
#define QUADS(number, layout)                                                                                \
  {                                                                                                          \
    unsigned h[4];                                                                                           \
    float f[8], g[8];                                                                                        \
    asm volatile("mma.sync.aligned.m8n8k4." layout                                                           \
                 ".f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "                                        \
                 "{%8,%9,%10,%11};"                                                                          \
                 : "=r"(h[0]), "=r"(h[1]), "=r"(h[2]), "=r"(h[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));  \
    asm volatile("mma.sync.aligned.m8n8k4." layout                                                           \
                 ".f32.f16.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "                                     \
                 "{%10,%11}, {%12,%13,%14,%15};"                                                             \
                 : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3]), "=f"(f[4]), "=f"(f[5]), "=f"(f[6]),       \
                   "=f"(f[7])                                                                                \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));  \
    asm volatile(                                                                                            \
        "mma.sync.aligned.m8n8k4." layout                                                                    \
        ".f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "                                              \
        "{%10,%11}, {%12,%13,%14,%15,%16,%17,%18,%19};"                                                      \
        : "=f"(g[0]), "=f"(g[1]), "=f"(g[2]), "=f"(g[3]), "=f"(g[4]), "=f"(g[5]), "=f"(g[6]), "=f"(g[7])     \
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), \
          "f"(d[5]), "f"(d[6]), "f"(d[7]));                                                                  \
    for (int i = 0; i < 4; ++i) to[number * 20 + i] = h[i];                                                  \
    for (int i = 0; i < 8; ++i) to[number * 20 + 4 + i] = __float_as_uint(f[i]);                             \
    for (int i = 0; i < 8; ++i) to[number * 20 + 12 + i] = __float_as_uint(g[i]);                            \
  }

__device__ unsigned halves_near_one(unsigned word) { return (word & 0x8fff8fff) | 0x38003800; }

// run quads 8 32 0 20480
KERNEL(quads) {
  const unsigned *const from = in + index_in_grid() * 16;
  unsigned *const to = out + index_in_grid() * 80;
  unsigned a[2], b[2], c[4];
  float d[8];
  for (int i = 0; i < 2; ++i) {
    a[i] = blockIdx.x < 4 ? halves_near_one(from[i]) : from[i];
    b[i] = blockIdx.x < 4 ? halves_near_one(from[2 + i]) : from[2 + i];
  }
  for (int i = 0; i < 4; ++i) c[i] = blockIdx.x < 4 ? halves_near_one(from[4 + i]) : from[4 + i];
  for (int i = 0; i < 8; ++i) d[i] = blockIdx.x < 4 ? spread(from[8 + i], 3) : __uint_as_float(from[8 + i]);
  QUADS(0, "row.row")
  QUADS(1, "row.col")
  QUADS(2, "col.row")
  QUADS(3, "col.col")
}

__device__ float normal_distribution(float d) {
  const float k = 1 / (1 + 0.2316419f * fabsf(d));
  const float tail = 0.39894228f * __expf(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * -1.821255978f))));
  return d > 0 ? 1 - tail : tail;
}
// run option_prices 16 64 0 2048
KERNEL(option_prices) {
  const unsigned i = index_in_grid();
  const float price = between(in[3 * i], 5, 30), strike = between(in[3 * i + 1], 1, 100),
              years = between(in[3 * i + 2], 0.25f, 10);
  const float root = sqrtf(years), d1 = (logf(price / strike) + 0.065f * years) / (0.3f * root),
              d2 = d1 - 0.3f * root;
  const float discounted = strike * __expf(-0.02f * years);
  out[2 * i] = __float_as_uint(price * normal_distribution(d1) - discounted * normal_distribution(d2));
  out[2 * i + 1] = __float_as_uint(discounted * normal_distribution(-d2) - price * normal_distribution(-d1));
}

// run compensated_sums 8 64 0 1024
KERNEL(compensated_sums) {
  const unsigned i = index_in_grid();
  float sum = spread(in[i], 4), lost = 0;
  for (int n = 0; n < 9; ++n) {
    const float next = sum / (n + 1.5f) - lost, total = sum + next;
    lost = (total - sum) - next;
    sum = total;
  }
  float divided = spread(in[i + 4096], 2);
  for (int n = 0; n < 9; ++n) divided = divided / spread(in[i + n], 1) - 0.25f * divided;
  out[2 * i] = __float_as_uint(sum);
  out[2 * i + 1] = __float_as_uint(divided);
}

// run newton_roots 8 64 0 1024
KERNEL(newton_roots) {
  const unsigned i = index_in_grid();
  const float of = between(in[i], 0.1f, 50);
  float y = of;
  for (int n = 0; n < 6; ++n) y = y - (y * y * y - of) / (3 * y * y + 0.1f);
  float x = 1;
  for (int n = 0; n < 6; ++n) x = 0.5f * (x + of / x);
  out[2 * i] = __float_as_uint(y);
  out[2 * i + 1] = __float_as_uint(x);
}

// run color_spaces 16 64 0 3072
KERNEL(color_spaces) {
  const unsigned i = index_in_grid(), word = in[i];
  const float r = static_cast<float>(word & 255) / 255, g = static_cast<float>(word >> 8 & 255) / 255,
              b = static_cast<float>(word >> 16 & 255) / 255;
  const float high = fmaxf(r, fmaxf(g, b)), low = fminf(r, fminf(g, b)), chroma = high - low;
  float hue = 0;
  if (chroma > 0)
    hue = high == r   ? fmodf((g - b) / chroma + 6, 6)
          : high == g ? (b - r) / chroma + 2
                      : (r - g) / chroma + 4;
  const float linear = r <= 0.04045f ? r / 12.92f : __powf((r + 0.055f) / 1.055f, 2.4f);
  out[3 * i] = __float_as_uint(hue);
  out[3 * i + 1] = __float_as_uint(high > 0 ? chroma / high * 255 - 0.5f : 0);
  out[3 * i + 2] = __float_as_uint(116 * cbrtf(0.2126f * linear + 0.7152f * g) - 16);
}

// Products and sums with instructions between them that ptxas expands to branches or branches around.
#define ACROSS(number, instruction)                                                                       \
  {                                                                                                       \
    float sum;                                                                                            \
    asm volatile(                                                                                         \
        "{ .reg .f32 m, q; .reg .f64 w; .reg .u32 i; .reg .u64 l; .reg .pred p; setp.gt.f32 p, %1, %2;\n" \
        "  cvt.f64.f32 w, %1; cvt.u64.u32 l, %5; mul.f32 m, %1, %2;\n  " instruction                      \
        "\n  add.f32 %0, m, %3; }"                                                                        \
        : "=f"(sum)                                                                                       \
        : "f"(a), "f"(b), "f"(c), "l"(to), "r"(word)                                                      \
        : "memory");                                                                                      \
    to[number] = __float_as_uint(sum);                                                                    \
  }

// run contraction_blocks 8 64 0 10240
KERNEL(contraction_blocks) {
  const unsigned word = in[index_in_grid() * 4];
  const float a = spread(in[index_in_grid() * 4 + 1], 2), b = spread(in[index_in_grid() * 4 + 2], 2),
              c = -a * b * (1 + 0x1p-20f * static_cast<float>(word & 7));
  unsigned *const to = out + index_in_grid() * 20;
  ACROSS(0, "")
  ACROSS(1, "div.rn.f32 q, %1, %2;")
  ACROSS(2, "div.approx.f32 q, %1, %2;")
  ACROSS(3, "sqrt.rn.f32 q, %1;")
  ACROSS(4, "rcp.rn.f32 q, %1;")
  ACROSS(5, "rcp.rn.f64 w, w;")
  ACROSS(6, "div.rn.f64 w, w, w;")
  ACROSS(7, "rsqrt.approx.f64 w, w;")
  ACROSS(8, "div.s32 i, %5, 7; st.global.u32 [%4+76], i;")
  ACROSS(9, "div.u32 i, %5, 7; st.global.u32 [%4+76], i;")
  ACROSS(10, "rem.u64 l, l, 10; st.global.u32 [%4+76], l;")
  ACROSS(11, "bfind.u64 i, l; st.global.u32 [%4+76], i;")
  ACROSS(12, "membar.gl;")
  ACROSS(13, "@p st.global.u32 [%4+76], %5;")
  ACROSS(14, "mov.u32 i, %5; @p ld.global.u32 i, [%4]; st.global.u32 [%4+76], i;")
  ACROSS(15, "@p mov.u32 i, %5;")
  ACROSS(16, "bar.warp.sync -1;")
  ACROSS(17, "@p prefetch.global.L2 [%4];")
  ACROSS(18, "st.global.u32 [%4+76], %5;")
}

__device__ double nan_or_number(unsigned word) {
  const unsigned long long payload = word >> 2 & 0xffff,
                           nan = 0x7ff8000000000000 | (word & 2 ? 1ull << 63 : 0) | payload,
                           number = __double_as_longlong(1 + static_cast<double>(payload));
  const unsigned long long mask = 0 - static_cast<unsigned long long>(word & 1);
  return __longlong_as_double((nan & mask) | (number & ~mask));
}
// run nan_order 16 64 0 24576
KERNEL(nan_order) {
  const unsigned *const from = in + index_in_grid() * 4;
  unsigned at = index_in_grid() * 12;
  const double a = nan_or_number(from[0]), b = nan_or_number(from[1]), c = nan_or_number(from[2]);
  put(out, at++, a + b);
  put(out, at++, __dadd_rn(b, a));
  put(out, at++, a - b);
  put(out, at++, __dsub_rn(b, a));
  put(out, at++, __dmul_rn(b, a));
  put(out, at++, __fma_rn(b, a, c));
  put(out, at++, __fma_rn(c, b, a));
  put(out, at++, __fma_rn(-c, a, b));
  const double later = __dadd_rn(a, 1);
  put(out, at++, __dmul_rn(later, b));
  put(out, at++, __dadd_rn(c, later));
  double merged = a;
  if (from[3] & 1) merged = __dmul_rn(c, 3);
  put(out, at++, __dmul_rn(merged, b));
  put(out, at++, __dsub_rn(c, merged));
}

__constant__ unsigned constants[64] = {1, 2, 3};
// run spaces_of_addresses 2 64 0 512
KERNEL(spaces_of_addresses) {
  __shared__ unsigned shared[64];
  unsigned own[4];
  for (unsigned i = 0; i < 4; ++i) own[i] = in[i + threadIdx.x];
  shared[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const void *address;
  switch (in[index_in_grid()] & 3) {
    case 0:
      address = in + threadIdx.x;
      break;
    case 1:
      address = shared + threadIdx.x;
      break;
    case 2:
      address = own + (in[index_in_grid()] >> 4 & 3);
      break;
    default:
      address = constants + threadIdx.x;
  }
  unsigned spaces = 0;
  asm("{ .reg .pred g, s, l, c; .reg .u32 r; isspacep.global g, %1; isspacep.shared s, %1; isspacep.local l, "
      "%1;\n"
      "  isspacep.const c, %1; selp.u32 %0, 1, 0, g; selp.u32 r, 2, 0, s; or.b32 %0, %0, r; selp.u32 r, 4, "
      "0, l;\n"
      "  or.b32 %0, %0, r; selp.u32 r, 8, 0, c; or.b32 %0, %0, r; }"
      : "=r"(spaces)
      : "l"(address));
  out[index_in_grid() * 2] = spaces;
  out[index_in_grid() * 2 + 1] = *static_cast<const volatile unsigned *>(address);
}

#if __CUDA_ARCH__ >= 900
__device__ unsigned maybe_outside(unsigned word, unsigned by) {
  return word >> by & 1 ? (word & 0xffff0000) | (word & 0x8000) | 0x7ff7 : word;
}
// run outside_nans 8 64 0 2048
KERNEL(outside_nans) {
  const unsigned *const from = in + index_in_grid() * 4, which = from[3];
  const unsigned a = maybe_outside(from[0], which & 15), b = maybe_outside(from[1], which >> 4 & 15),
                 c = maybe_outside(from[2], which >> 8 & 15);
  unsigned *const to = out + index_in_grid() * 4;
  asm("fma.rn.oob.f16x2 %0, %1, %2, %3;" : "=r"(to[0]) : "r"(a), "r"(b), "r"(c));
  asm("fma.rn.oob.relu.f16x2 %0, %1, %2, %3;" : "=r"(to[1]) : "r"(a), "r"(b), "r"(c));
  asm("fma.rn.oob.bf16x2 %0, %1, %2, %3;" : "=r"(to[2]) : "r"(a), "r"(b), "r"(c));
  asm("fma.rn.oob.relu.bf16x2 %0, %1, %2, %3;" : "=r"(to[3]) : "r"(a), "r"(b), "r"(c));
}
#endif
