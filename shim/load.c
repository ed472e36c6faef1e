/* SPDX-License-Identifier: Apache-2.0 */
/* cushim_load(): finds and opens a driver, resolves its entry points, and calls cuInit if requested. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Opens the driver of this library, or the default driver for null. Returns null with the reason in
 * diagnosis. */
static CushimDriver *open_driver(const char *library, CushimDiagnosis *diagnosis) {
  CushimFound found;
  if (!cushim_find(library, &found, diagnosis)) {
    if (library == NULL && cushim_driver_lookup(&cushim_default) == CUSHIM_LOOKUP_NONE)
      cushim_close_default(diagnosis);
    return NULL;
  }
  if (library == NULL) {
    cushim_open_default(&found);
    free(found.path);
    return &cushim_default;
  }
  CushimDriver *driver = cushim_driver_for(&found);
  free(found.path);
  if (driver == NULL) {
    diagnosis->id = CUSHIM_NOT_LOADABLE;
    diagnosis->code = CUDA_ERROR_OUT_OF_MEMORY;
    strcpy(diagnosis->what, "out of memory for the table of a driver");
  }
  return driver;
}

CUSHIM_CALLS_DRIVER
CushimDriver *cushim_load(const CushimLoadOptions *options, CushimDiagnosis *diagnosis) {
  CushimLoadOptions asked = {sizeof asked, NULL, 0, false};
  if (options != NULL) memcpy(&asked, options, options->size < sizeof asked ? options->size : sizeof asked);
  CushimDiagnosis unwanted;
  if (diagnosis == NULL) diagnosis = &unwanted;
  cushim_reset(diagnosis);

  CushimDriver *driver = open_driver(asked.library, diagnosis);
  if (driver == NULL) return NULL;
  cushim_resolve_all(driver);

  const int version = cushim_driver_version(driver);
  diagnosis->driver_version = version;
  if (version < asked.at_least) {
    cushim_conclude_too_old(diagnosis, version, asked.at_least);
    return NULL;
  }
  if (asked.initialize) {
    int devices = 0;
    CUresult code = driver->cuInit(0);
    if (code == CUDA_SUCCESS) code = driver->cuDeviceGetCount(&devices);
    if (code == CUDA_SUCCESS && devices == 0) code = CUDA_ERROR_NO_DEVICE;
    if (code != CUDA_SUCCESS) {
      CushimDiagnosis reason;
      cushim_explain(driver, code, &reason);
      memcpy(reason.attempts, diagnosis->attempts,
             (size_t)diagnosis->attempt_count * sizeof *reason.attempts);
      reason.attempt_count = diagnosis->attempt_count;
      *diagnosis = reason;
      return NULL;
    }
  }
  return driver;
}
