# SPDX-License-Identifier: Apache-2.0
"""mirror_test.py MIRROR: the page contains the answers of real drivers only."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MIRROR = sys.argv.pop()
LINE = "Events.A_null_event_is_refused: cuEventQuery(nullptr) = CUDA_ERROR_INVALID_HANDLE (400)\n"


class Mirror(unittest.TestCase):
    def run_on(self, driver, *options):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "answers.txt").write_text(f"# driver {driver}, version 13000\n# gpu NVIDIA H200\n{LINE}")
            page = Path(folder, "page.md")
            done = subprocess.run([sys.executable, MIRROR, "--answers", folder, "--page", page, *options],
                                  stderr=subprocess.PIPE, text=True)
            return done.returncode, done.stderr, page.read_text() if page.exists() else ""

    def test_answers_of_a_real_driver_become_a_page(self):
        status, _, page = self.run_on("libcuda.so.580.159.04")
        self.assertEqual(status, 0)
        self.assertIn("| A null event is refused | `cuEventQuery(nullptr)` | `CUDA_ERROR_INVALID_HANDLE (400)` |", page)

    def test_answers_of_the_simulated_driver_are_refused(self):
        status, error, page = self.run_on("SIMULATED NVIDIA H200")
        self.assertNotEqual(status, 0)
        self.assertIn("recorded on the simulated driver", error)
        self.assertEqual(page, "")

    def test_a_page_that_is_not_what_the_answers_say_is_told(self):
        status, error, _ = self.run_on("libcuda.so.580.159.04", "--check")
        self.assertEqual(status, 1)
        self.assertIn("run tools/fidelity/mirror.py", error)


if __name__ == "__main__":
    unittest.main()
