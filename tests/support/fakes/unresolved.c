/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that needs a function which no library defines. */
int cushim_test_defined_nowhere(void);

int version(int *version) __asm__("cuDriverGetVersion");
int version(int *version) {
  *version = cushim_test_defined_nowhere();
  return 0;
}
