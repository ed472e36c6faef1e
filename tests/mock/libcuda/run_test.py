#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `cushim run` with programs that reach the simulated driver, and with programs that bypass it.

Usage: run_test.py TEST CUSHIM LIBRARY_FOLDER COMPILER
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

CUSHIM, FOLDER, COMPILER = sys.argv[2:5]
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-run-test-"))
OPENS = "#include <dlfcn.h>\nint main() { return dlopen(\"libcuda.so.1\", RTLD_NOW) == 0; }"


def run(*arguments, options=("--require-driver",)):
    return subprocess.run([CUSHIM, "run", "--library", FOLDER, *options, "--", *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)


def build(source, *flags, name="program"):
    (HERE / "program.c").write_text(source)
    subprocess.run([COMPILER, HERE / "program.c", "-o", HERE / name, *flags], check=True)
    return HERE / name


def python(program):
    return sys.executable, "-c", f"import ctypes, os, signal, sys\ncu = ctypes.CDLL('libcuda.so.1')\n{program}"


def expect_past(done, words):
    assert done.returncode == 3 and done.stdout == "" and words in done.stderr, (words, done)


def a_program_that_opens_the_driver_keeps_its_end():
    done = run(*python("print('mine'); sys.exit(7)"))
    assert done.returncode == 7 and done.stdout == "mine\n" and done.stderr == "", done
    assert run(*python("os.kill(os.getpid(), signal.SIGTERM)")).returncode == -signal.SIGTERM


def a_child_may_open_it():
    assert run("sh", "-c", '"$0" "$@" && exit 5', *python("pass")).returncode == 5


def a_program_that_never_opens_it():
    expect_past(run(build("int main() { return 0; }")), "its file does not name libcuda.so.1")


def a_static_program():
    expect_past(run(build("int main() { return 0; }", "-static")), "linked statically")


def an_absolute_path():
    source = OPENS.replace("libcuda.so.1", "/nonexistent/libcuda.so.1").replace("== 0", "!= 0")
    expect_past(run(build(source)), "/nonexistent/libcuda.so.1, an absolute path")


def an_rpath_to_stubs():
    (HERE / "stubs").mkdir()
    subprocess.run([COMPILER, "-shared", "-x", "c", "/dev/null", "-o", HERE / "stubs/libcuda.so.1"], check=True)
    program = build(OPENS, f"-Wl,--disable-new-dtags,-rpath,{HERE}/stubs")
    expect_past(run(program), f"RPATH is searched before LD_LIBRARY_PATH and contains {HERE}/stubs, a directory of the toolkit's")
    # LD_LIBRARY_PATH comes before a RUNPATH.
    assert run(build(OPENS, f"-Wl,--enable-new-dtags,-rpath,{HERE}/stubs")).returncode == 0


def a_setuid_program():
    program = build("int main() { return 0; }")
    program.chmod(0o4755)
    expect_past(run(program), "is setuid")


def a_bad_option_ends_it_before_the_program_starts():
    started = HERE / "started"
    for option, value, words in (("--check", "leeks", "leaks"), ("--devices", "h300", "h300"),
                                 ("--faults", "cuMemAloc:1=OUT_OF_MEMORY", "cuMemAlloc"),
                                 ("--faults", "@/nowhere/rules", "/nowhere/rules"),
                                 ("--schedule", "late", "late"), ("--seed", "seven", "seven"),
                                 ("--driver-version", "9.2", "9.2"),
                                 ("--report", "/nowhere/report", "/nowhere/report")):
        done = run("touch", started, options=(option, value))
        assert done.returncode == 2 and words in done.stderr and not started.exists(), (option, done)
    for option, value in (("--check", "leaks"), ("--devices", "h200x2"), ("--seed", "7"), ("--report", HERE / "fine")):
        assert run("true", options=(option, str(value))).returncode == 0, option
    assert run("touch", started, options=("--report", str(HERE / "report"))).returncode == 0 and started.exists()
    assert len(list(HERE.glob("report.*"))) == 1, "the trial left a file"


def an_interrupt_of_the_command_alone_reaches_the_program():
    program = ("import signal\ntry:\n  print('ready', flush=True)\n  signal.pause()\n"
               "except KeyboardInterrupt: sys.exit(9)")
    for number, status in ((signal.SIGINT, 9), (signal.SIGTERM, -signal.SIGTERM)):
        with subprocess.Popen([CUSHIM, "run", "--library", FOLDER, "--require-driver", "--", *python(program)],
                              stdout=subprocess.PIPE, text=True) as command:
            assert command.stdout.readline() == "ready\n"
            command.send_signal(number)
            assert command.wait(timeout=60) == status, (number, command.returncode)


def findings_end_it_with_the_code_asked_for():
    options = ("--error-exitcode", "42", "--report", "stderr")
    assert run(*python("sys.exit(7)"), options=options).returncode == 7
    leaks = "cu.cuInit(0); cu.cuEventCreateFromEGLSync(None, None, 0)"
    done = run("sh", "-c", '"$0" "$@"; exit 0', *python(leaks), options=options)
    assert done.returncode == 42 and "FINDING: called, but not implemented" in done.stderr, done


def a_program_with_nvidias_runtime():
    (HERE / "runtime.c").write_text("int cudaGetDeviceCount(int *count) { *count = 0; return 35; }")
    subprocess.run([COMPILER, "-shared", "-fPIC", HERE / "runtime.c", "-o", HERE / "libcudart.so.12",
                    "-Wl,-soname,libcudart.so.12"], check=True)
    source = "int cudaGetDeviceCount(int *); int main() { int count; return cudaGetDeviceCount(&count) != 35; }"
    program = build(source, HERE / "libcudart.so.12", f"-Wl,-rpath,{HERE}")
    expect_past(run(program), "it uses NVIDIA's runtime library, which did not open the driver")


def a_report_says_that_no_process_opened_it():
    program = build("int main() { return 7; }", "-static")
    done = run(program, options=("--report", "stderr"))
    assert done.returncode == 7 and done.stdout == "", done
    assert f"{program} did not open the SIMULATED driver: {program}: it is linked statically" in done.stderr, done
    assert run(program, options=("--report", HERE / "report.%p.json")).returncode == 7
    file, = HERE.glob("report.*.json")
    report = json.loads(file.read_text())
    assert file.name == f"report.{report['process']}.json" and report["has_ended"], report
    assert "linked statically" in report["bypass_reason"] and report["calls"] == {}, report


def a_report_of_one_that_did_has_no_such_word():
    assert run(*python("pass"), options=("--report", HERE / "report.%p.json")).returncode == 0
    file, = HERE.glob("report.*.json")
    assert "bypass_reason" not in json.loads(file.read_text())


def a_report_needs_no_folder_for_marks():
    os.environ["TMPDIR"] = "/nonexistent"
    assert run(*python("pass"), options=("--report", HERE / "report.%p.json")).returncode == 0
    assert len(list(HERE.glob("report.*.json"))) == 1
    done = run(*python("pass"))
    assert done.returncode != 0 and "cannot create a temporary directory" in done.stderr, done


def faults_come_from_the_command_line_and_from_files():
    program = python("print([cu.cuInit(0) for _ in range(3)])")
    assert run(*program, options=("--faults", "cuInit:2=UNKNOWN")).stdout == "[0, 999, 0]\n"
    (HERE / "faults.txt").write_text("# two of three\ncuInit:1=NO_DEVICE\ncuInit:3=UNKNOWN\n")
    os.chdir(HERE)
    elsewhere = "sh", "-c", 'cd / && exec "$0" "$@"', *program
    assert run(*elsewhere, options=("--faults", "@faults.txt")).stdout == "[100, 0, 999]\n"
    (HERE / "faults.txt").write_text("cuInit:1=NO_DEVISE\n")
    done = run(*program, options=("--faults", "@faults.txt"))
    assert done.returncode == 2 and done.stdout == "", done
    assert 'faults.txt:1:10: there is no result "NO_DEVISE"; did you mean "NO_DEVICE"?' in done.stderr, done


def what_cannot_be_started():
    done = run("/nonexistent/program")
    assert done.returncode != 0 and "cannot start /nonexistent/program" in done.stderr, done


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE)
