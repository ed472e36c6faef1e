/* SPDX-License-Identifier: Apache-2.0 */
/* A user's C program: opens the driver, prints the diagnosis, and makes a raw call. */
#include <cushim/load.h>
#include <stdio.h>

int main(void) {
  CushimDiagnosis diagnosis;
  const CushimDriver *driver = cushim_load(NULL, &diagnosis);
  char text[1024];
  cushim_diagnosis_text(&diagnosis, text, sizeof text);
  puts(text);

  int version = 0;
  const CUresult result = cushim_driver()->cuDriverGetVersion(&version);
  return driver ? result != CUDA_SUCCESS || version != diagnosis.driver_version
                : result != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}
