/* SPDX-License-Identifier: Apache-2.0 */
/* Uses only the C API: prints the driver's version as returned by the loader and by a raw call. */
#include <cushim/load.h>
#include <stdio.h>

int main(void) {
  CushimDiagnosis diagnosis;
  CushimDriver *driver = cushim_load(NULL, &diagnosis);
  char text[1024];
  cushim_diagnosis_text(&diagnosis, text, sizeof text);
  if (driver == NULL) {
    puts(text);
    return 3;
  }
  int version = 0;
  const CUresult code = cushim_driver()->cuDriverGetVersion(&version);
  printf("%d %d %d\n", (int)code, version, cushim_driver_version(driver));
  return 0;
}
