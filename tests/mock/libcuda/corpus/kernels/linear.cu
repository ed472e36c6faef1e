// SPDX-License-Identifier: Apache-2.0
#include "corpus.cuh"

// run linear_lu 1 256 0 512
KERNEL(linear_lu) {
  __shared__ double a[16][16];
  __shared__ int pivot;
  const unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
  a[y][x] = unit(in[threadIdx.x], in[threadIdx.x + 256]) - 0.5;
  for (unsigned k = 0; k < 16; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) {
      pivot = static_cast<int>(k);
      for (unsigned r = k + 1; r < 16; ++r)
        if (fabs(a[r][k]) > fabs(a[pivot][k])) pivot = static_cast<int>(r);
    }
    __syncthreads();
    if (y == 0 && pivot != static_cast<int>(k)) {
      const double kept = a[k][x];
      a[k][x] = a[pivot][x];
      a[pivot][x] = kept;
    }
    __syncthreads();
    if (x == k && y > k) a[y][k] /= a[k][k];
    __syncthreads();
    if (x > k && y > k) a[y][x] -= a[y][k] * a[k][x];
  }
  put(out, threadIdx.x, a[y][x]);
}
// run linear_cholesky 1 64 0 64
KERNEL(linear_cholesky) {
  __shared__ float a[8][8];
  const unsigned x = threadIdx.x % 8, y = threadIdx.x / 8;
  float sum = x == y ? 1 : 0;
  for (unsigned k = 0; k < 8; ++k) sum += between(in[y * 8 + k], -1, 1) * between(in[x * 8 + k], -1, 1);
  a[y][x] = sum;
  for (unsigned k = 0; k < 8; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) a[k][k] = sqrtf(a[k][k]);
    __syncthreads();
    if (x == k && y > k) a[y][k] /= a[k][k];
    __syncthreads();
    if (x > k && y >= x) a[y][x] -= a[y][k] * a[x][k];
  }
  __syncthreads();
  out[threadIdx.x] = y >= x ? __float_as_uint(a[y][x]) : 0;
}
__device__ double sum_of_block(double value) {
  __shared__ double partial[2];
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  return partial[0] + partial[1];
}
// run linear_gradients 1 64 0 160
KERNEL(linear_gradients) {
  __shared__ double p[66];
  const unsigned i = threadIdx.x + 1;
  double x = 0, r = unit(in[i], in[i + 100]), direction = r, rr = sum_of_block(r * r);
  if (i == 1) p[0] = p[65] = 0;
  unsigned steps = 0;
  for (; steps < 64 && rr > 1e-12; ++steps) {
    p[i] = direction;
    __syncthreads();
    const double ap = 2.5 * p[i] - p[i - 1] - p[i + 1], alpha = rr / sum_of_block(direction * ap);
    x += alpha * direction;
    r -= alpha * ap;
    const double next = sum_of_block(r * r);
    direction = r + next / rr * direction;
    rr = next;
  }
  put(out, threadIdx.x, x);
  if (i == 1) out[150] = steps;
}
// run linear_eigenvalues 1 32 0 128
KERNEL(linear_eigenvalues) {
  // Jacobi rotations of a symmetric matrix of 3 by 3 in each thread.
  float a[3][3];
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c <= r; ++c)
      a[r][c] = a[c][r] = between(in[threadIdx.x * 6 + r * (r + 1) / 2 + c], -2, 2);
  for (int sweep = 0; sweep < 4; ++sweep)
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < 3; ++q) {
        if (fabsf(a[p][q]) < 1e-12f) continue;
        const float theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const float t = copysignf(1, theta) / (fabsf(theta) + sqrtf(theta * theta + 1)),
                    c = rsqrtf(t * t + 1), s = t * c;
        for (int k = 0; k < 3; ++k) {
          const float kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (int k = 0; k < 3; ++k) {
          const float pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
        }
      }
  for (int k = 0; k < 3; ++k) out[threadIdx.x * 4 + k] = __float_as_uint(a[k][k]);
}
// run linear_sparse 2 128 0 64
KERNEL(linear_sparse) {
  // One warp for each 8 rows with up to 8 numbers.
  const unsigned row = index_in_grid() / 4, lane = threadIdx.x % 4, count = in[row] % 8 + 1;
  float sum = 0;
  for (unsigned k = lane; k < count; k += 4)
    sum = fmaf(between(in[100 + row * 8 + k], -1, 1), unit(in[2000 + (in[700 + row * 8 + k] & 255)]), sum);
  sum += __shfl_xor_sync(~0u, sum, 1);
  sum += __shfl_xor_sync(~0u, sum, 2);
  if (lane == 0) out[row] = __float_as_uint(sum);
}
// run linear_tridiagonal 1 32 0 512
KERNEL(linear_tridiagonal) {
  // Cyclic reduction in registers with shuffles, and the Thomas algorithm in local memory.
  float a = threadIdx.x ? -unit(in[threadIdx.x]) : 0, b = 3,
        c = threadIdx.x < 31 ? -unit(in[40 + threadIdx.x]) : 0, d = unit(in[80 + threadIdx.x]);
  for (unsigned step = 1; step < 32; step *= 2) {
    float up[4] = {a, b, c, d}, down[4] = {a, b, c, d};
    for (float &one : up) one = __shfl_up_sync(~0u, one, step);
    for (float &one : down) one = __shfl_down_sync(~0u, one, step);
    const float k1 = threadIdx.x >= step ? a / up[1] : 0, k2 = threadIdx.x + step < 32 ? c / down[1] : 0;
    b -= up[2] * k1 + down[0] * k2;
    d -= up[3] * k1 + down[3] * k2;
    a = -up[0] * k1;
    c = -down[2] * k2;
  }
  out[threadIdx.x] = __float_as_uint(d / b);
  double upper[7], right[7];
  upper[0] = unit(in[threadIdx.x], 0) / 4;
  right[0] = unit(in[threadIdx.x + 9], 0) / 4;
  for (int i = 1; i < 7; ++i) {
    const double scale = 1 / (4 - upper[i - 1]);
    upper[i] = unit(in[threadIdx.x + i], 0) * scale;
    right[i] = (unit(in[threadIdx.x + 9 + i], 0) - right[i - 1]) * scale;
  }
  for (int i = 5; i >= 0; --i) right[i] -= upper[i] * right[i + 1];
  for (int i = 0; i < 7; ++i) put(out, 16 + threadIdx.x * 7 + i, right[i]);
}
// run linear_complex 1 64 0 256
KERNEL(linear_complex) {
  // Powers of complex matrices of 2 by 2, and roots by Newton's method.
  double2 z = make_double2(unit(in[threadIdx.x], 1) * 4 - 2, unit(in[threadIdx.x + 64], 2) * 4 - 2);
  unsigned steps = 0;
  for (; steps < 40; ++steps) {
    const double x2 = z.x * z.x - z.y * z.y, y2 = 2 * z.x * z.y, x3 = x2 * z.x - y2 * z.y - 1,
                 y3 = x2 * z.y + y2 * z.x, norm = 3 * (x2 * x2 + y2 * y2);
    const double dx = (x3 * x2 + y3 * y2) / norm, dy = (y3 * x2 - x3 * y2) / norm;
    z.x -= dx;
    z.y -= dy;
    if (dx * dx + dy * dy < 1e-20) break;
  }
  put(out, 2 * threadIdx.x, z.x);
  put(out, 2 * threadIdx.x + 1, z.y + steps * 1e-12);
}
