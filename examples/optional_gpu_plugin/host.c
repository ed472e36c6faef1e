/* SPDX-License-Identifier: Apache-2.0 */
/* A program without CUDA code. A plugin contains its GPU code; the program uses the plugin if it can load
 * it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

static void use_plugin(const char *path) {
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *found = plugin != NULL ? dlsym(plugin, PLUGIN_REPORT) : NULL;
  if (found == NULL) {
    printf("host: no plugin (%s)\n", dlerror());
    return;
  }
  PluginReport *report;
  memcpy(&report, &found, sizeof report);
  printf("host: the plugin says: %s\n", report());
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s PLUGIN\n", argv[0]);
    return 2;
  }
  use_plugin(argv[1]);
  /* The program continues regardless of the plugin's report. */
  printf("host: done\n");
  return 0;
}
