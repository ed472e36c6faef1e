/* SPDX-License-Identifier: Apache-2.0 */
/* A program without a word of CUDA. Its GPU code lies in a plugin, which it uses if it is there. */
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
  /* The work goes on whatever the plugin said. */
  printf("host: done\n");
  return 0;
}
