// SPDX-License-Identifier: Apache-2.0
// Simulations, in f32 and f64.
#include "corpus.cuh"

// Lennard-Jones forces with a cutoff in a periodic box, in tiles of shared memory.
// run physics_molecules 2 64 0 384
KERNEL(physics_molecules) {
  __shared__ float4 tile[64];
  const unsigned i = index_in_grid();
  const auto position = [&](unsigned k) {
    return make_float4(between(in[3 * k], 0, 8), between(in[3 * k + 1], 0, 8), between(in[3 * k + 2], 0, 8),
                       0);
  };
  const float4 mine = position(i);
  float3 force = make_float3(0, 0, 0);
  for (unsigned from = 0; from < 128; from += 64) {
    __syncthreads();
    tile[threadIdx.x] = position(from + threadIdx.x);
    __syncthreads();
    for (unsigned k = 0; k < 64; ++k) {
      float x = mine.x - tile[k].x, y = mine.y - tile[k].y, z = mine.z - tile[k].z;
      x -= 8 * rintf(x * 0.125f);
      y -= 8 * rintf(y * 0.125f);
      z -= 8 * rintf(z * 0.125f);
      const float square = x * x + y * y + z * z;
      if (square > 6.25f || from + k == i) continue;
      const float inverse = 1.f / fmaxf(square, 0.25f), sixth = inverse * inverse * inverse;
      const float factor = 24 * inverse * sixth * (2 * sixth - 1);
      force.x += factor * x, force.y += factor * y, force.z += factor * z;
    }
  }
  out[3 * i] = __float_as_uint(force.x);
  out[3 * i + 1] = __float_as_uint(force.y);
  out[3 * i + 2] = __float_as_uint(force.z);
}
// A lattice of nine velocities.
// run physics_lattice 1 256 0 2304
KERNEL(physics_lattice) {
  __shared__ float f[2][9][256];
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float w[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int k = 0; k < 9; ++k) f[0][k][threadIdx.x] = w[k] * between(in[k * 256 + threadIdx.x], 0.9f, 1.1f);
  for (int step = 0; step < 6; ++step) {
    __syncthreads();
    float here[9], density = 0, u = 0, v = 0;
    for (int k = 0; k < 9; ++k) {
      here[k] = f[step % 2][k][((y - cy[k]) & 15) * 16 + ((x - cx[k]) & 15)];
      density += here[k];
      u += static_cast<float>(cx[k]) * here[k];
      v += static_cast<float>(cy[k]) * here[k];
    }
    u /= density, v /= density;
    const float energy = 1.5f * (u * u + v * v);
    for (int k = 0; k < 9; ++k) {
      const float along = 3 * (static_cast<float>(cx[k]) * u + static_cast<float>(cy[k]) * v);
      const float equilibrium = w[k] * density * (1 + along + 0.5f * along * along - energy);
      f[(step + 1) % 2][k][threadIdx.x] = here[k] + 0.6f * (equilibrium - here[k]);
    }
  }
  __syncthreads();
  for (int k = 0; k < 9; ++k) out[k * 256 + threadIdx.x] = __float_as_uint(f[0][k][threadIdx.x]);
}
struct State {
  double x, y, z;
};
__device__ State slope(const State &s, double r) {
  return {10 * (s.y - s.x), s.x * (r - s.z) - s.y, s.x * s.y - 8.0 / 3 * s.z};
}
// Lorenz's equations by Runge and Kutta.
// run physics_lorenz 1 64 0 384
KERNEL(physics_lorenz) {
  State s{unit(in[threadIdx.x], in[100 + threadIdx.x]), 1, 0.5};
  const double r = 24 + 4 * unit(in[200 + threadIdx.x], 0), h = 0.01;
  for (unsigned step = 0; step < 200; ++step) {
    const State a = slope(s, r);
    const State b = slope({s.x + h / 2 * a.x, s.y + h / 2 * a.y, s.z + h / 2 * a.z}, r);
    const State c = slope({s.x + h / 2 * b.x, s.y + h / 2 * b.y, s.z + h / 2 * b.z}, r);
    const State d = slope({s.x + h * c.x, s.y + h * c.y, s.z + h * c.z}, r);
    s.x += h / 6 * (a.x + 2 * b.x + 2 * c.x + d.x);
    s.y += h / 6 * (a.y + 2 * b.y + 2 * c.y + d.y);
    s.z += h / 6 * (a.z + 2 * b.z + 2 * c.z + d.z);
  }
  put(out, threadIdx.x, s.x);
  put(out, 64 + threadIdx.x, s.y);
  put(out, 128 + threadIdx.x, s.z);
}
struct Quaternion {
  float w, x, y, z;
};
__device__ Quaternion operator*(const Quaternion &a, const Quaternion &b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
// Free rotation of rigid bodies.
// run physics_rotation 1 64 0 448
KERNEL(physics_rotation) {
  const unsigned t = threadIdx.x;
  Quaternion q{1, 0, 0, 0};
  float3 w = make_float3(between(in[t], -2, 2), between(in[t + 64], -2, 2), between(in[t + 128], -2, 2));
  const float3 inertia = make_float3(1, 2 + unit(in[t + 192]), 3.5f);
  for (unsigned step = 0; step < 100; ++step) {
    const float h = 0.01f;
    w = make_float3(w.x + h * (inertia.y - inertia.z) * w.y * w.z / inertia.x,
                    w.y + h * (inertia.z - inertia.x) * w.z * w.x / inertia.y,
                    w.z + h * (inertia.x - inertia.y) * w.x * w.y / inertia.z);
    const Quaternion d = q * Quaternion{0, w.x, w.y, w.z};
    q = {q.w + h / 2 * d.w, q.x + h / 2 * d.x, q.y + h / 2 * d.y, q.z + h / 2 * d.z};
    const float scale = rsqrtf(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    q = {q.w * scale, q.x * scale, q.y * scale, q.z * scale};
  }
  const float all[7] = {q.w, q.x, q.y, q.z, w.x, w.y, w.z};
  for (unsigned k = 0; k < 7; ++k) out[k * 64 + t] = __float_as_uint(all[k]);
}
// Smoothed particles: a table of cells by counting sort, then densities.
// run physics_particles 1 256 0 512
KERNEL(physics_particles) {
  __shared__ unsigned counts[64], starts[65], order[256];
  __shared__ float2 points[256];
  const unsigned t = threadIdx.x;
  if (t < 64) counts[t] = 0;
  points[t] = make_float2(between(in[2 * t], 0, 8), between(in[2 * t + 1], 0, 8));
  const unsigned cell = static_cast<unsigned>(points[t].x) + 8 * static_cast<unsigned>(points[t].y);
  __syncthreads();
  atomicAdd(&counts[cell], 1);
  __syncthreads();
  if (t == 0) {
    starts[0] = 0;
    for (unsigned k = 0; k < 64; ++k) starts[k + 1] = starts[k] + counts[k];
  }
  __syncthreads();
  unsigned rank = 0;  // stable, so that sums have one order
  for (unsigned k = 0; k < t; ++k)
    rank += static_cast<unsigned>(points[k].x) + 8 * static_cast<unsigned>(points[k].y) == cell;
  order[starts[cell] + rank] = t;
  __syncthreads();
  float density = 0;
  unsigned neighbors = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const int x = static_cast<int>(cell % 8) + dx, y = static_cast<int>(cell / 8) + dy;
      if (x < 0 || y < 0 || x > 7 || y > 7) continue;
      for (unsigned k = starts[x + 8 * y]; k < starts[x + 8 * y + 1]; ++k) {
        const float a = points[order[k]].x - points[t].x, b = points[order[k]].y - points[t].y;
        const float square = a * a + b * b;
        if (square >= 1) continue;
        ++neighbors;
        density += powf(1 - square, 3) * 315 / (64 * 3.14159265f);
      }
    }
  out[t] = __float_as_uint(density);
  out[256 + t] = neighbors;
}
