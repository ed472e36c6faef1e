/* SPDX-License-Identifier: Apache-2.0 */
/* A fake driver of CUDA 12.4 with one device and the functions that `cushim doctor` uses. Includes no CUDA
 * header, because doctor uses the exported ABI. Environment variables:
 *   FAKE_GPU_VERSION=11020    the driver's version
 *   FAKE_GPU_INIT=802         the result of cuInit
 *   FAKE_GPU_DEVICES=2        the number of devices; all are equal
 *   FAKE_GPU_BROKEN=999       the result of every call about one device
 *   FAKE_GPU_RUDE=1           strings fill their buffers, without a terminating null byte and not in UTF-8
 *   FAKE_GPU_INTERPOSED=1     two entry points come from another library */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int fake_gpu_interposed_record(void *event, void *stream);
int fake_gpu_interposed_query(void *event);

#define EXPORT __attribute__((visibility("default")))

static int setting(const char *name, int otherwise) {
  const char *value = getenv(name);
  return value != NULL ? atoi(value) : otherwise;
}

static int write_text(char *text, int capacity, const char *value) {
  const int result = setting("FAKE_GPU_BROKEN", 0);
  if (result != 0 || capacity <= 0) return result;
  memset(text, 0xff, (size_t)capacity);
  if (setting("FAKE_GPU_RUDE", 0) == 0) strncpy(text, value, (size_t)capacity);
  return 0;
}

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDeviceGetName(char *name, int capacity, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
EXPORT int cuDeviceGetPCIBusId(char *id, int capacity, int device);
EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventQuery(void *event);
EXPORT int cuGetProcAddress_v2(const char *base, void **function, int version, uint64_t flags, int *status);

int cuInit(unsigned flags) {
  (void)flags;
  return setting("FAKE_GPU_INIT", 0);
}

int cuDriverGetVersion(int *version) {
  *version = setting("FAKE_GPU_VERSION", 12040);
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = setting("FAKE_GPU_DEVICES", 1);
  return 0;
}

int cuDeviceGet(int *device, int number) {
  *device = number;
  return 0;
}

int cuDeviceGetName(char *name, int capacity, int device) {
  (void)device;
  return write_text(name, capacity, "Fake GPU");
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = (size_t)8 << 30;
  return setting("FAKE_GPU_BROKEN", 0);
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  /* compute capability 9.1; -1 for all other attributes */
  *value = attribute == 75 ? 9 : attribute == 76 ? 1 : -1;
  return setting("FAKE_GPU_BROKEN", 0);
}

static int write_uuid(unsigned char *uuid, unsigned char first) {
  for (int i = 0; i < 16; ++i) uuid[i] = (unsigned char)(first + i);
  return setting("FAKE_GPU_BROKEN", 0);
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
  (void)device;
  return write_uuid(uuid, 0x10);
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  (void)device;
  return write_uuid(uuid, 0xa0);
}

int cuDeviceGetPCIBusId(char *id, int capacity, int device) {
  (void)device;
  return write_text(id, capacity, "0000:1B:00.0");
}

int cuEventRecord(void *event, void *stream) { return fake_gpu_interposed_record(event, stream); }
int cuEventQuery(void *event) { return fake_gpu_interposed_query(event); }

/* ---- Lookup -----------------------------------------------------------------------------------*/

typedef void (*Function)(void);

typedef struct Row {
  const char *base;
  int version;
  Function function;
  Function interposed;
} Row;

static const Row rows[] = {
    {"cuInit", 2000, (Function)cuInit, NULL},
    {"cuDriverGetVersion", 2020, (Function)cuDriverGetVersion, NULL},
    {"cuDeviceGetCount", 2000, (Function)cuDeviceGetCount, NULL},
    {"cuDeviceGet", 2000, (Function)cuDeviceGet, NULL},
    {"cuDeviceGetName", 2000, (Function)cuDeviceGetName, NULL},
    {"cuDeviceTotalMem", 3020, (Function)cuDeviceTotalMem_v2, NULL},
    {"cuDeviceGetAttribute", 2000, (Function)cuDeviceGetAttribute, NULL},
    {"cuDeviceGetUuid", 9020, (Function)cuDeviceGetUuid, NULL},
    {"cuDeviceGetUuid", 11040, (Function)cuDeviceGetUuid_v2, NULL},
    {"cuDeviceGetPCIBusId", 4010, (Function)cuDeviceGetPCIBusId, NULL},
    {"cuEventRecord", 2000, (Function)cuEventRecord, (Function)fake_gpu_interposed_record},
    {"cuEventQuery", 2000, (Function)cuEventQuery, (Function)fake_gpu_interposed_query},
    {"cuGetProcAddress", 12000, (Function)cuGetProcAddress_v2, NULL},
};

int cuGetProcAddress_v2(const char *base, void **function, int version, uint64_t flags, int *status) {
  const int per_thread = (flags & 2) != 0; /* this driver has no per-thread variants */
  *function = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !per_thread; ++i) {
    if (strcmp(rows[i].base, base) != 0 || rows[i].version > version) continue;
    const int interposed = rows[i].interposed != NULL && setting("FAKE_GPU_INTERPOSED", 0);
    const Function found = interposed ? rows[i].interposed : rows[i].function;
    memcpy(function, &found, sizeof found);
  }
  if (status != NULL) *status = *function != NULL ? 0 : 1;
  return 0;
}

#if defined(FAKE_GPU_SIMULATED)
EXPORT const char *cushim_simulated_driver(void);
const char *cushim_simulated_driver(void) { return "SIMULATED by a test"; }
#endif
