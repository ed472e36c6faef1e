# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's libraries that clients need beside the driver."""
import sys

from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib


def need(*libraries):
    """Loads the libraries. Ends the client with the exit code 77, which means skipped, if one is not installed."""
    try:
        for library in libraries:
            load_nvidia_dynamic_lib(library)
    except DynamicLibNotFoundError as error:
        print(error)
        sys.exit(77)
