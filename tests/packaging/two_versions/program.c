/* SPDX-License-Identifier: Apache-2.0 */
/* program PLUGIN DRIVER: makes the driver current in its own copy; the plugin's copy remains without a
 * driver. */
#include <dlfcn.h>
#include <string.h>

#include "copies.h"

int main(int argc, char **argv) {
  int (*plugin_calls)(int *) = NULL;
  void *const plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  void *const found = plugin != NULL ? dlsym(plugin, "plugin_calls") : NULL;
  if (found == NULL) return 2;
  memcpy(&plugin_calls, &found, sizeof found);

  char who[] = "program";
  print_copies(who);
  CushimLoadOptions options = {.size = sizeof options, .library = argv[2]};
  CushimDriver *const driver = cushim_load(&options, NULL);
  if (driver == NULL) return 3;
  CushimScope scope;
  cushim_enter(&scope, driver);
  int version = 0;
  int others_version = 0;
  const int result = (int)cuDriverGetVersion(&version);
  const int others_result = plugin_calls(&others_version);
  printf("program calls %d version %d, plugin calls %d version %d\n", result, version, others_result,
         others_version);
  cushim_leave(&scope);
  return 0;
}
