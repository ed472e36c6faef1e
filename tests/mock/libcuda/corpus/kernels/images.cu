// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run image_life 4 64 0 512
KERNEL(image_life) {
  __shared__ unsigned grid[2][64];
  grid[0][threadIdx.x] = in[index_in_grid()];
  __syncthreads();
  for (unsigned step = 0; step < 12; ++step) {
    const unsigned *const from = grid[step % 2];
    const unsigned up = from[(threadIdx.x + 63) % 64], row = from[threadIdx.x],
                   down = from[(threadIdx.x + 1) % 64];
    unsigned ones = 0, twos = 0, fours = 0;
    const auto count = [&](unsigned bits) {
      const unsigned carry = ones & bits, second = twos & carry;
      ones ^= bits;
      twos ^= carry;
      fours |= second;
    };
    for (const unsigned one : {up, down}) {
      count(one);
      count(__funnelshift_l(one, one, 1));
      count(__funnelshift_r(one, one, 1));
    }
    count(__funnelshift_l(row, row, 1));
    count(__funnelshift_r(row, row, 1));
    grid[(step + 1) % 2][threadIdx.x] = twos & ~fours & (ones | row);
    __syncthreads();
  }
  out[index_in_grid()] = grid[0][threadIdx.x];
}
// run image_mandelbrot 16 64 0 1024
KERNEL(image_mandelbrot) {
  const unsigned i = index_in_grid();
  const float cx = -2 + static_cast<float>(i % 32) * 0.09f, cy = -1.2f + static_cast<float>(i / 32) * 0.075f;
  float x = 0, y = 0;
  unsigned steps = 0;
  while (x * x + y * y < 4 && steps < 100) {
    const float kept = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = kept;
    ++steps;
  }
  out[i] = steps * 1000 + (__float_as_uint(x) & 255);
}
// run image_heat 1 256 0 256
KERNEL(image_heat) {
  __shared__ float cells[18][18];
  const unsigned x = threadIdx.x % 16 + 1, y = threadIdx.x / 16 + 1;
  for (unsigned i = threadIdx.x; i < 324; i += 256) cells[i / 18][i % 18] = 0;
  __syncthreads();
  cells[y][x] = between(in[threadIdx.x], 0, 100);
  __syncthreads();
  for (int step = 0; step < 25; ++step) {
    const float next = cells[y][x] + 0.2f * (cells[y - 1][x] + cells[y + 1][x] + cells[y][x - 1] +
                                             cells[y][x + 1] - 4 * cells[y][x]);
    __syncthreads();
    cells[y][x] = next;
    __syncthreads();
  }
  out[threadIdx.x] = __float_as_uint(cells[y][x]);
}
// Seven points in three dimensions, with the plane kept in registers.
// run image_stencil 1 64 0 512
KERNEL(image_stencil) {
  __shared__ double plane[10][10];
  const unsigned x = threadIdx.x % 8, y = threadIdx.x / 8;
  const auto at = [&](int z) { return z < 0 || z > 3 ? 0.0 : unit(in[(z * 8 + y) * 8 + x], in[x]); };
  for (unsigned i = threadIdx.x; i < 100; i += 64) plane[i / 10][i % 10] = 0;
  double below = at(-1), here = at(0);
  for (int z = 0; z < 4; ++z) {
    const double above = at(z + 1);
    __syncthreads();
    plane[y + 1][x + 1] = here;
    __syncthreads();
    put(out, (z * 8 + y) * 8 + x,
        0.4 * here + 0.1 * (below + above + plane[y][x + 1] + plane[y + 2][x + 1] + plane[y + 1][x] +
                            plane[y + 1][x + 2]));
    below = here;
    here = above;
  }
}
// run image_sobel 4 64 0 256
KERNEL(image_sobel) {
  const auto *const pixels = reinterpret_cast<const uchar4 *>(in);
  const int x = index_in_grid() % 16, y = index_in_grid() / 16;
  const auto grey = [&](int px, int py) {
    const uchar4 p = pixels[min(max(py, 0), 15) * 16 + min(max(px, 0), 15)];
    return 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
  };
  const float gx = grey(x + 1, y - 1) + 2 * grey(x + 1, y) + grey(x + 1, y + 1) - grey(x - 1, y - 1) -
                   2 * grey(x - 1, y) - grey(x - 1, y + 1);
  const float gy = grey(x - 1, y + 1) + 2 * grey(x, y + 1) + grey(x + 1, y + 1) - grey(x - 1, y - 1) -
                   2 * grey(x, y - 1) - grey(x + 1, y - 1);
  uchar4 result;
  result.x = static_cast<unsigned char>(fminf(sqrtf(gx * gx + gy * gy), 255));
  result.y = static_cast<unsigned char>(atan2f(gy, gx) * 40 + 128);
  result.z = static_cast<unsigned char>(__saturatef(gx / 255) * 255 + 0.5f);
  result.w = 255;
  reinterpret_cast<uchar4 *>(out)[y * 16 + x] = result;
}
// run image_median 4 64 0 256
KERNEL(image_median) {
  const int x = index_in_grid() % 16, y = index_in_grid() / 16;
  unsigned char window[9];
  for (int k = 0; k < 9; ++k)
    window[k] =
        reinterpret_cast<const unsigned char *>(in)[((y + k / 3 + 15) % 16) * 16 + (x + k % 3 + 15) % 16];
  for (int pass = 0; pass < 5; ++pass)
    for (int k = 0; k < 8 - pass; ++k)
      if (window[k] > window[k + 1]) {
        const unsigned char kept = window[k];
        window[k] = window[k + 1];
        window[k + 1] = kept;
      }
  out[index_in_grid()] = window[4];
}
// run image_bilateral 4 64 0 256
KERNEL(image_bilateral) {
  const int x = index_in_grid() % 16, y = index_in_grid() / 16;
  const float middle = unit(in[y * 16 + x]);
  float sum = 0, weights = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      const float one = unit(in[((y + dy + 16) % 16) * 16 + (x + dx + 16) % 16]);
      const float weight =
          __expf(-static_cast<float>(dx * dx + dy * dy) * 0.2f - (one - middle) * (one - middle) * 4);
      sum += weight * one;
      weights += weight;
    }
  out[index_in_grid()] = __float_as_uint(__fdividef(sum, weights));
}
// A ray in a sphere and a plane.
// run image_rays 8 64 0 512
KERNEL(image_rays) {
  const unsigned i = index_in_grid();
  float3 origin = make_float3(0, 0, -3),
         direction = make_float3(static_cast<float>(i % 32) / 16 - 1, static_cast<float>(i / 32) / 8 - 1, 2);
  float colour = 0, weight = 1;
  for (int bounce = 0; bounce < 4; ++bounce) {
    const float length = rnorm3df(direction.x, direction.y, direction.z);
    direction = make_float3(direction.x * length, direction.y * length, direction.z * length);
    const float b = origin.x * direction.x + origin.y * direction.y + origin.z * direction.z;
    const float c = origin.x * origin.x + origin.y * origin.y + origin.z * origin.z - 1, root = b * b - c;
    const float sphere = root > 0 ? -b - sqrtf(root) : -1,
                plane = direction.y < 0 ? (-1.2f - origin.y) / direction.y : -1;
    if (sphere > 1e-3f) {
      origin = make_float3(origin.x + sphere * direction.x, origin.y + sphere * direction.y,
                           origin.z + sphere * direction.z);
      const float dot = 2 * (direction.x * origin.x + direction.y * origin.y + direction.z * origin.z);
      direction = make_float3(direction.x - dot * origin.x, direction.y - dot * origin.y,
                              direction.z - dot * origin.z);
      weight *= 0.8f;
    } else if (plane > 1e-3f) {
      const float x = origin.x + plane * direction.x, z = origin.z + plane * direction.z;
      colour += weight * ((static_cast<int>(floorf(x)) ^ static_cast<int>(floorf(z))) & 1 ? 0.9f : 0.1f);
      break;
    } else {
      colour += weight * (0.5f + 0.5f * direction.y);
      break;
    }
  }
  out[i] = __float_as_uint(colour);
}
