/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves an entry point to the driver's function: by exactly the version that its type belongs to, never
 * by a newer one, and never by trying suffixes. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "internal.h"

/* cuGetProcAddress as of 12.0 and as of 11.3, declared here because older headers lack the types of the
 * first. Parameters: symbol, function (out), version, flags, status (out). */
typedef CUresult(CUDAAPI *GetProcV2)(const char *, void **, int, cuuint64_t, int *);
typedef CUresult(CUDAAPI *GetProcV1)(const char *, void **, int, cuuint64_t);

enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 }; /* CU_GET_PROC_ADDRESS_* */

CushimResolver cushim_make_resolver(void *handle, int version) {
  CushimResolver resolver = {CUSHIM_LOOKUP_GET_PROC_V2, handle, version, NULL};
  resolver.get = cushim_as_function(dlsym(handle, "cuGetProcAddress_v2"));
  if (resolver.get == NULL) {
    resolver.lookup = CUSHIM_LOOKUP_GET_PROC_V1;
    resolver.get = cushim_as_function(dlsym(handle, "cuGetProcAddress"));
  }
  if (resolver.get == NULL) resolver.lookup = CUSHIM_LOOKUP_DLSYM;
  return resolver;
}

CUSHIM_CALLS_DRIVER
CushimFunction cushim_resolve(const CushimResolver *resolver, int slot) {
  const CushimEntryInfo *entry = cushim_entry(slot);
  /* A driver returns an error for a version above its own, and cannot have a later entry point. */
  if (entry == NULL || entry->version > resolver->version) return NULL;
  const cuuint64_t flags = entry->thread[0] != '\0' ? PER_THREAD_STREAM : LEGACY_STREAM;
  void *function = NULL;
  int status = 0;
  CUresult result = CUDA_SUCCESS;
  switch (resolver->lookup) {
    case CUSHIM_LOOKUP_GET_PROC_V2:
      result = ((GetProcV2)resolver->get)(entry->base, &function, entry->version, flags, &status);
      break;
    case CUSHIM_LOOKUP_GET_PROC_V1:
      result = ((GetProcV1)resolver->get)(entry->base, &function, entry->version, flags);
      break;
    case CUSHIM_LOOKUP_DLSYM:
      function = dlsym(resolver->handle, entry->symbol);
      break;
    case CUSHIM_LOOKUP_NONE:
    case CUSHIM_LOOKUP_IN_PROCESS:
      break;
  }
  return result == CUDA_SUCCESS ? cushim_as_function(function) : NULL;
}
