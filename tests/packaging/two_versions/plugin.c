/* SPDX-License-Identifier: Apache-2.0 */
#include "copies.h"

/* Lists the copies, and calls the driver that is current in this copy. */
__attribute__((visibility("default"))) int plugin_calls(int *version);
int plugin_calls(int *version) {
  char who[] = "plugin";
  print_copies(who);
  return (int)cuDriverGetVersion(version);
}
