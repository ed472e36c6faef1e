// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstdio>
#include <new>

#include "corpus.cuh"

__device__ __noinline__ unsigned fibonacci(unsigned k) {
  return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned k) {
  return m == 0 ? k + 1 : k == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, k - 1));
}
// run control_recursion 1 64 0 128
KERNEL(control_recursion) {
  out[threadIdx.x] = fibonacci(in[threadIdx.x] % 12);
  out[64 + threadIdx.x] = ackermann(threadIdx.x % 3, in[threadIdx.x] % 5);
}

struct Shape {
  float size;
  __device__ explicit Shape(float value) : size(value) {}
  __device__ virtual float area() const = 0;
  __device__ virtual unsigned corners() const { return 0; }
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  using Shape::Shape;
  __device__ float area() const override { return size * size; }
  __device__ unsigned corners() const override { return 4; }
};
struct Circle : Shape {
  using Shape::Shape;
  __device__ float area() const override { return 3.14159265f * size * size; }
};
struct Polygon final : Square {
  unsigned count;
  __device__ Polygon(float value, unsigned corner_count) : Square(value), count(corner_count) {}
  __device__ float area() const override { return Square::area() * static_cast<float>(count); }
  __device__ unsigned corners() const override { return count; }
};
// run control_virtual 2 64 0 256
KERNEL(control_virtual) {
  const unsigned i = index_in_grid(), word = in[i];
  Shape *shape;
  switch (word % 3) {
    case 0:
      shape = new Square(unit(word));
      break;
    case 1:
      shape = new Circle(unit(word));
      break;
    default:
      shape = new Polygon(unit(word), word % 11);
  }
  out[i] = __float_as_uint(shape->area());
  out[128 + i] = shape->corners();
  delete shape;
}

typedef unsigned (*Operation)(unsigned, unsigned);
__device__ unsigned add(unsigned a, unsigned b) { return a + b; }
__device__ unsigned multiply(unsigned a, unsigned b) { return a * b; }
__device__ unsigned rotate(unsigned a, unsigned b) { return __funnelshift_l(a, a, b); }
__device__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 2654435761u; }
__device__ Operation const operations[] = {add, multiply, rotate, mix};
__constant__ Operation fixed_operations[] = {mix, rotate};
// run control_pointers 2 96 0 192
KERNEL(control_pointers) {
  const unsigned i = index_in_grid();
  unsigned value = in[i];
  for (unsigned k = 0; k < 8; ++k) value = operations[(in[i] >> 2 * k) & 3](value, k + 1);
  value = fixed_operations[i & 1](value, i);
  Operation chosen = value & 1 ? add : mix;
  out[i] = chosen(value, 12345);
}

__device__ unsigned interpret(const unsigned *code, unsigned count, unsigned a) {
  unsigned b = 1, stack[8] = {}, depth = 0;
  for (unsigned at = 0; at < count; ++at) switch (code[at] % 16) {
      case 0:
        a += b;
        break;
      case 1:
        a -= code[at];
        break;
      case 2:
        b = a * 3 + 1;
        break;
      case 3:
        a ^= b << 5;
        break;
      case 4:
        stack[depth++ & 7] = a;
        break;
      case 5:
        a = stack[--depth & 7];
        break;
      case 6:
        a = __brev(a);
        break;
      case 7:
        at += a & 1;
        break;
      case 8:
        b = __popc(a) + at;
        break;
      case 9:
        a = a > b ? a - b : b - a;
        break;
      case 10:
        return a * 17 + b;
      case 11: {
        const unsigned kept = a;
        a = b;
        b = kept;
      } break;
      case 12:
        a = a / (b | 1);
        break;
      case 13:
        a = fibonacci(a % 8);
        break;
      case 14:
        continue;
      default:
        a = ~a;
    }
  return a + b;
}
// run control_switch 2 64 0 128
KERNEL(control_switch) { out[index_in_grid()] = interpret(in + index_in_grid() * 24, 24, index_in_grid()); }

// run control_alloca 1 64 0 64
KERNEL(control_alloca) {
  const unsigned count = 4 + in[threadIdx.x] % 13;
  unsigned *const values = static_cast<unsigned *>(__builtin_alloca(count * sizeof(unsigned)));
  for (unsigned i = 0; i < count; ++i) values[i] = in[threadIdx.x + i];
  unsigned sum = 0;
  for (unsigned i = 0; i < count; ++i) sum = sum * 33 + values[(i * 7) % count];
  out[threadIdx.x] = sum;
}

// run control_heap 2 64 0 256
KERNEL(control_heap) {
  struct Node {
    unsigned value;
    Node *next;
  };
  Node *list = nullptr;
  const unsigned i = index_in_grid(), count = in[i] % 10;
  for (unsigned k = 0; k < count; ++k) list = new Node{in[i + k], list};
  unsigned sum = 0;
  while (list) {
    sum = sum * 5 + list->value;
    Node *const next = list->next;
    delete list;
    list = next;
  }
  out[i] = sum;
  char *const bytes = static_cast<char *>(malloc(100 + count));
  memset(bytes, static_cast<int>(i), 100 + count);
  out[128 + i] =
      static_cast<unsigned>(bytes[99 + count]) + (reinterpret_cast<unsigned long long>(bytes) % 16 == 0);
  free(bytes);
}

// run control_printf 1 2 0 4 prints
KERNEL(control_printf) {
  if (threadIdx.x == 0) {
    out[0] = static_cast<unsigned>(
        printf("%d %u %x %5.3f %s %c %llu %%\n", -5, in[0], in[1], 1.5, "text", 'q', 1ull << 40));
    out[1] = static_cast<unsigned>(printf("none\n"));
    out[2] = static_cast<unsigned>(printf("%08.2e|%-10s|%+d|%#o|%g\n", 12345.678, "left", 7, 8u, 1e-10));
  }
  assert(n > 0);
}

// Loops that diverge, with breaks out of two levels, gotos into shared ends and early returns.
// run control_divergence 2 96 0 384
KERNEL(control_divergence) {
  const unsigned i = index_in_grid();
  unsigned value = in[i], steps = 0;
  for (unsigned a = 0; a < 10; ++a) {
    for (unsigned b = 0; b < 10; ++b) {
      value = value * 1664525u + 1013904223u;
      ++steps;
      if (value >> 28 == 3) goto done;
      if (value >> 28 == 5) break;
      if (value >> 27 == 9) continue;
      value ^= b;
    }
    if (value & 0x10) {
      if (value & 0x20) return;
      value += a;
    } else if ((value & 0xc0) == 0x40) {
      do value = value / 3 * 2;
      while (value > 1000000);
    }
  }
done:
  out[i] = value;
  out[192 + i] = steps;
}
// Collatz steps: each lane leaves at its own time; the warp meets again.
// run control_collatz 2 128 0 512
KERNEL(control_collatz) {
  const unsigned i = index_in_grid();
  unsigned long long value = in[i] % 100000 + 1;
  unsigned steps = 0;
  while (value != 1) {
    value = value & 1 ? 3 * value + 1 : value / 2;
    ++steps;
  }
  out[i] = steps;
  out[256 + i] = __shfl_sync(~0u, steps, (threadIdx.x + 1) % 32) + __ballot_sync(~0u, steps & 1);
}
// Threads of a warp that wait for each other in turn.
// run control_turns 2 32 0 64
KERNEL(control_turns) {
  __shared__ volatile unsigned turn, value;
  if (threadIdx.x == 0) {
    turn = 0;
    value = in[blockIdx.x];
  }
  __syncwarp();
  const unsigned mine = 31 - threadIdx.x;
  while (turn != mine) __nanosleep(10);
  value = value * 7 + threadIdx.x;
  out[index_in_grid()] = value;
  __threadfence_block();
  turn = mine + 1;
}

struct Big {
  unsigned words[12];
  double real;
};
__device__ __noinline__ Big turned(Big big, unsigned by) {
  Big result = big;
  for (unsigned i = 0; i < 12; ++i) result.words[(i + by) % 12] = big.words[i];
  result.real = big.real * by;
  return result;
}
// run control_structures 1 64 0 192
KERNEL(control_structures) {
  Big big;
  for (unsigned i = 0; i < 12; ++i) big.words[i] = in[threadIdx.x + i];
  big.real = unit(in[threadIdx.x], 1);
  for (unsigned k = 1; k < 4; ++k) big = turned(big, in[threadIdx.x] % 9 + k);
  out[threadIdx.x] = big.words[0] ^ big.words[5];
  put(out, 32 + threadIdx.x, big.real);
}
template <class F>
__device__ __noinline__ float integrate(F f, float low, float high, int steps) {
  float sum = 0;
  const float width = (high - low) / static_cast<float>(steps);
  for (int i = 0; i < steps; ++i) sum += f(low + (static_cast<float>(i) + 0.5f) * width);
  return sum * width;
}
// run control_lambdas 1 64 0 128
KERNEL(control_lambdas) {
  const float a = unit(in[threadIdx.x]);
  out[threadIdx.x] = __float_as_uint(integrate([a](float x) { return a * x * x + 1; }, 0, 1 + a, 20));
  out[64 + threadIdx.x] = __float_as_uint(integrate([&](float x) { return 1 / (1 + x * x * a); }, -1, a, 30));
}
// A state machine of coroutines by Duff's device.
// run control_duff 1 96 0 96
KERNEL(control_duff) {
  unsigned count = in[threadIdx.x] % 23 + 1, sum = 0;
  const unsigned *from = in + threadIdx.x;
  unsigned rounds = (count + 7) / 8;
  switch (count % 8) {
    case 0:
      do {
        sum += *from++;
        case 7:
          sum ^= *from++;
        case 6:
          sum += *from++;
        case 5:
          sum *= *from++ | 1;
        case 4:
          sum += *from++;
        case 3:
          sum -= *from++;
        case 2:
          sum += *from++;
        case 1:
          sum ^= *from++;
      } while (--rounds > 0);
  }
  out[threadIdx.x] = sum;
}
