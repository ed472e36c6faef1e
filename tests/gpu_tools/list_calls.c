// SPDX-License-Identifier: Apache-2.0
// A minimal profiler: prints the name of each driver call on stderr. The driver loads it into a program if
// CUDA_INJECTION64_PATH names it; CUPTI calls print_call for each call.
#include <cupti.h>
#include <stdio.h>

static void print_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
  (void)user, (void)domain, (void)id;
  const CUpti_CallbackData *call = data;
  if (call->callbackSite == CUPTI_API_ENTER) fprintf(stderr, "call %s\n", call->functionName);
}

// Called by the driver; returns 1 on success.
int InitializeInjection(void) {
  CUpti_SubscriberHandle subscriber;
  if (cuptiSubscribe(&subscriber, print_call, NULL) != CUPTI_SUCCESS) return 0;
  return cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
}
