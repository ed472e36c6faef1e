/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to the device and back through asynchronous OpenACC queues that wait for each other. Runs no
 * device code. */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 1 << 20 };

int main(void) {
  acc_init(acc_device_nvidia);
  printf("%d devices, %s\n", acc_get_num_devices(acc_device_nvidia),
         acc_get_property_string(0, acc_device_nvidia, acc_property_name));
  char *there = malloc(kBytes), *back = calloc(1, kBytes);
  for (int i = 0; i < kBytes; ++i) there[i] = (char)(1 + i % 127);
  char *device = acc_malloc(kBytes);
  acc_memcpy_to_device_async(device, there, kBytes, 1);
  acc_wait_async(1, 2); /* queue 2 waits for queue 1 */
  acc_memcpy_from_device_async(back, device, kBytes, 2);
  acc_wait(2);
  acc_copyin_async(there, kBytes, 3);
  acc_wait(3);
  there[0] = 0; /* the device's copy restores the value */
  acc_update_self_async(there, kBytes, 4);
  acc_wait(4);
  int same = 0;
  for (int i = 0; i < kBytes; ++i) same += there[i] == back[i] && back[i] == (char)(1 + i % 127);
  printf("the same: %d of %d bytes\n", same, kBytes);
  acc_delete(there, kBytes);
  acc_free(device);
  acc_shutdown(acc_device_nvidia);
  free(there);
  free(back);
  return 0;
}
