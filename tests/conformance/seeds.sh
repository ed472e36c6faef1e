#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the suite on the simulated driver under the seeds 1 to N: seeds.sh PROGRAM FILTER [N].
# CUSHIM_CONFORMANCE_SEEDS overrides N.
set -eu
program=$1 filter=$2 count=${CUSHIM_CONFORMANCE_SEEDS:-${3:-2}}
failed=
seed=1
while [ "$seed" -le "$count" ]; do
  if ! said=$(CUSHIM_SCHEDULE=seeded CUSHIM_SEED=$seed "$program" --driver=sim "--gtest_filter=$filter" \
      --gtest_brief=1 2>&1); then
    printf '%s\n' "$said"
    failed="$failed $seed"
  fi
  seed=$((seed + 1))
done
if [ -n "$failed" ]; then
  echo "failed under CUSHIM_SCHEDULE=seeded CUSHIM_SEED =$failed of $count"
  exit 1
fi
echo "passed under $count seeds"
