// SPDX-License-Identifier: Apache-2.0
#pragma once

// The approximations of the special function units of an H200, to the bit. Subnormal arguments count as zero,
// and subnormal results are zero, as with .ftz; the hyperbolic tangent of a subnormal number is that number.
namespace cushim::ptx::execute {

float reciprocal(float);           // rcp.approx.ftz.f32
float inverse_square_root(float);  // rsqrt.approx.ftz.f32
float square_root(float);          // sqrt.approx.ftz.f32
float exponential(float);          // ex2.approx.ftz.f32
float logarithm(float);            // lg2.approx.ftz.f32
float sine(float);                 // sin.approx.ftz.f32
float cosine(float);               // cos.approx.ftz.f32
float hyperbolic_tangent(float);   // tanh.approx.f32

}  // namespace cushim::ptx::execute
