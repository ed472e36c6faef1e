/* SPDX-License-Identifier: Apache-2.0 */
/* Code that uses <cuda.h> and does not mention cushim. */
#pragma once
#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

CUresult unmodified_alloc(CUdeviceptr *pointer, size_t bytes);
CUresult unmodified_launch(CUfunction function, CUstream stream);
CUresult unmodified_look_up(const char *base, void **function, int version, cuuint64_t flags);
CUresult (*unmodified_address_of_init(void))(unsigned int);

#ifdef __cplusplus
}
#endif
