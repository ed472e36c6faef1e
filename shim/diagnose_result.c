/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses a code that the driver returned, from the state of the process and the device nodes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

const char *cushim_device_folder = "/dev";

/* The state of the driver's device nodes that explains why there is no device. */
typedef struct Nodes {
  bool has_gpu;
  char closed[300]; /* a node that this process may not open; empty if none */
} Nodes;

static Nodes look_at_nodes(void) {
  Nodes nodes = {false, ""};
  DIR *folder = opendir(cushim_device_folder);
  if (folder == NULL) return nodes;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    const bool is_wsl = strcmp(entry->d_name, "dxg") == 0;
    if (strncmp(entry->d_name, "nvidia", 6) != 0 && !is_wsl) continue;
    const char *rest = is_wsl ? "" : entry->d_name + 6;
    const bool is_gpu = is_wsl || (*rest != '\0' && rest[strspn(rest, "0123456789")] == '\0');
    if (!is_gpu && strcmp(rest, "ctl") != 0 && strcmp(rest, "-uvm") != 0) continue;
    nodes.has_gpu = nodes.has_gpu || is_gpu;
    char path[sizeof nodes.closed];
    snprintf(path, sizeof path, "%s/%s", cushim_device_folder, entry->d_name);
    if (access(path, R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM))
      memcpy(nodes.closed, path, sizeof path);
  }
  closedir(folder);
  return nodes;
}

static void conclude_no_permission(CushimDiagnosis *diagnosis, const Nodes *nodes) {
  cushim_conclude(
      diagnosis, CUSHIM_NO_PERMISSION,
      "Give this user access to the NVIDIA device nodes (group video or render, or the container's "
      "device rules).",
      "this user has no permission to open %s", nodes->closed);
}

static void explain_no_device(CushimDiagnosis *diagnosis) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  const bool hides_all = visible != NULL && (visible[0] == '\0' || visible[0] == '-');
  const Nodes nodes = look_at_nodes();
  if (!hides_all && nodes.closed[0] != '\0')
    conclude_no_permission(diagnosis, &nodes);
  else if (hides_all || (visible != NULL && nodes.has_gpu))
    cushim_conclude(diagnosis, CUSHIM_DEVICE_HIDDEN,
                    "Unset CUDA_VISIBLE_DEVICES, or name devices that exist (nvidia-smi -L lists them).",
                    "CUDA_VISIBLE_DEVICES=\"%s\" leaves no device", visible);
  else
    cushim_conclude(diagnosis, CUSHIM_NO_DEVICE,
                    "Check that a GPU is installed and that nvidia-smi lists it; in a container, that it was "
                    "started with --gpus.",
                    "the driver is installed but finds no GPU");
}

void cushim_explain(CushimDriver *driver, CUresult code, CushimDiagnosis *diagnosis) {
  if (cushim_driver_lookup(driver) == CUSHIM_LOOKUP_NONE) {
    cushim_lock();
    *diagnosis = driver->state->failure;
    cushim_unlock();
    if (diagnosis->id == CUSHIM_OK)
      cushim_conclude(diagnosis, CUSHIM_NO_DRIVER, "Call load() first.", "no driver has been opened");
    diagnosis->code = code;
    return;
  }
  cushim_reset(diagnosis);
  diagnosis->code = code;
  diagnosis->driver_version = cushim_driver_version(driver);
  switch ((int)code) {
    case CUDA_SUCCESS:
      cushim_conclude(diagnosis, CUSHIM_OK, "", "no problem was found");
      break;
    case CUDA_ERROR_NO_DEVICE:
      explain_no_device(diagnosis);
      break;
    case CUDA_ERROR_STUB_LIBRARY:
      cushim_conclude(diagnosis, CUSHIM_STUB_LIBRARY,
                      "Remove the toolkit's stubs directory from the library search path.",
                      "%s is the CUDA toolkit's link stub, not a driver", driver->state->name);
      break;
    case CUDA_ERROR_SYSTEM_NOT_READY:
      cushim_conclude(
          diagnosis, CUSHIM_FABRIC_MANAGER,
          "Start nvidia-fabricmanager of the same version as the driver, and wait until nvidia-smi -q "
          "shows the fabric's state as completed.",
          "cuInit returned CUDA_ERROR_SYSTEM_NOT_READY (802): the fabric manager is not ready");
      break;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      cushim_conclude(
          diagnosis, CUSHIM_KERNEL_MISMATCH,
          "Reboot or reload the nvidia kernel modules after a driver update; in a container, use the "
          "host's libcuda.",
          "%s and the loaded kernel module have different versions (803)", driver->state->name);
      break;
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      cushim_conclude(diagnosis, CUSHIM_COMPAT_UNSUPPORTED,
                      "Remove the cuda-compat directory from the library search path, or update the driver.",
                      "%s is a forward-compatibility library, which this GPU does not support (804)",
                      driver->state->name);
      break;
    case CUDA_ERROR_NOT_INITIALIZED:
      if (getpid() != driver->state->opened_by)
        cushim_conclude(
            diagnosis, CUSHIM_FORKED,
            "Start the child with exec (multiprocessing's spawn method), or fork before the first driver "
            "call.",
            "this process was forked after its parent initialized the driver, which does not work in the "
            "child");
      else
        cushim_conclude(diagnosis, CUSHIM_INIT_FAILED, "Call cuInit(0) before any other call.",
                        "the driver was not initialized (3)");
      break;
    case CUDA_ERROR_DEINITIALIZED:
      cushim_conclude(diagnosis, CUSHIM_TORN_DOWN,
                      "Release GPU objects before main returns, or ignore this error at exit.",
                      "the driver has shut down because the process is ending");
      break;
    case CUDA_ERROR_UNKNOWN:
    case CUDA_ERROR_OPERATING_SYSTEM: {
      const Nodes nodes = look_at_nodes();
      if (nodes.closed[0] != '\0')
        conclude_no_permission(diagnosis, &nodes);
      else
        cushim_conclude(diagnosis, CUSHIM_UNKNOWN,
                        "See the kernel log (dmesg | grep -i nvrm). Usual causes: the GPU fell off the bus, "
                        "nvidia-uvm is not loaded, or the machine was suspended.",
                        "the driver failed without a specific reason (%d, %s)", (int)code,
                        cushim_result_name(code));
      break;
    }
    default:
      cushim_conclude(diagnosis, CUSHIM_INIT_FAILED, "Run cushim explain with the code.",
                      "the driver returned %d, %s", (int)code, cushim_result_name(code));
      break;
  }
}
