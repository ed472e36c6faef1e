#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the page that `cushim run --trace FILE.html` writes, in a browser, with a program of two streams.

Usage: trace_page_test.py TEST CUSHIM LIBRARY_FOLDER BROWSER
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CUSHIM, FOLDER, BROWSER = sys.argv[2:5]
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-trace-page-test-"))

PROGRAM = r"""
import ctypes
cu = ctypes.CDLL('libcuda.so.1')
context, memory, event = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
streams = [ctypes.c_void_p(), ctypes.c_void_p()]
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 22)) == 0
for stream in streams:
    assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cu.cuEventCreate(ctypes.byref(event), 0) == 0
assert cu.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1 << 22), streams[0]) == 0
assert cu.cuEventRecord(event, streams[0]) == 0 and cu.cuStreamWaitEvent(streams[1], event, 0) == 0
assert cu.cuMemsetD32Async(memory, 1, ctypes.c_size_t(1 << 20), streams[1]) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 62)) != 0
assert cu.cuCtxSynchronize() == 0
"""


def text_of(cell):
    return html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()


def shown_after(actions, *options):
    """Returns the page after these actions in JavaScript. What they pass to say() is in the page as `said: ...`; so are
    errors of the page's script. The options are of `cushim run`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUSHIM_")}
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, f"--trace={HERE}/%p.html", *options, "--", sys.executable, "-c", PROGRAM],
                          capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done
    (file,) = HERE.glob("*.html")
    page = file.read_text()
    assert "src=" not in page and "http" not in page, "the page needs other files"
    helpers = """<script>
      const say = text => document.body.append(`said${": "}${text};`);
      addEventListener("error", event => say("error " + event.message));</script>"""
    file.write_text(page.replace("<script>", helpers + "<script>", 1) + f"<script>{actions}</script>")
    return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={HERE}/browser",
                           "--virtual-time-budget=20000", "--window-size=1200,800", "--dump-dom", file.as_uri()],
                          capture_output=True, text=True, timeout=100).stdout


def said(actions, *options):
    return [html.unescape(one) for one in re.findall(r"said: (.*?);", shown_after(actions, *options))]


def a_call_shows_its_arguments_under_the_pointer():
    # The last call of the thread is at the right edge.
    result = said("""
      const mouse = (type, x) => canvas.dispatchEvent(new MouseEvent(type, {clientX: x, clientY: canvas.offsetTop + RULER + 5}));
      mouse("mousemove", canvas.clientWidth - 1); say(detail.textContent.split("  ")[2]);
      mouse("click", canvas.clientWidth - 1); mouse("mousemove", LEFT + 1); say(detail.textContent.split("  ")[2]);""")
    assert result == ["cuCtxSynchronize", "cuCtxSynchronize"], result


def the_search_finds_calls_by_argument_and_result():
    result = said("""
      const enter = text => { search.value = text; search.dispatchEvent(new Event("input")); say($("found").textContent); };
      enter("4194304"); enter("OUT_OF_MEMORY"); enter("no such text");
      enter("cuEventRecord"); search.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
      say(detail.textContent.split("  ")[2]); say(to - from < clock.end);""")
    assert result == ["2 found", "1 found", "0 found", "1 found", "cuEventRecord", "true"], result


def the_wheel_zooms_and_a_double_click_shows_everything():
    result = said("""
      canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: 600})); say((to - from) / clock.end);
      canvas.dispatchEvent(new MouseEvent("dblclick")); say(to - from === clock.end);""")
    assert abs(float(result[0]) - 0.8) < 1e-9 and result[1:] == ["true"], result


def the_virtual_time_has_a_track_for_each_stream_and_the_critical_path():
    # A wait for an event that is already complete is not an operation, so no operation may run before the program waits.
    page = shown_after("""
      $("clock").value = 1; $("clock").dispatchEvent(new Event("change"));
      $("marked").click(); say(clock.tracks.map(track => track.split(" ")[0]));
      document.querySelector("#path tbody tr:last-child").click(); say(detail.textContent.split("  ")[2]);
      const operation = clock.items.findIndex(item => item.from !== undefined && item.name === "cuMemsetD32Async");
      keep(operation); draw(); say(clock.items[clock.items[operation].from].name);
      const waits = name => clock.items.filter(item => item.name === name && item.waitsFor).map(item => clock.items[item.waitsFor[0]].name);
      say([...waits("cuCtxSynchronize"), ...waits("cuStreamWaitEvent")]);""", "--schedule", "deferred")
    lines = [html.unescape(one) for one in re.findall(r"said: (.*?);", page)]
    assert lines == ["thread,stream#1,stream#2", "cuCtxSynchronize", "cuMemsetD32Async", "cuMemsetD32Async,cuEventRecord"], lines
    _, summary = re.findall(r"<summary>(.*?)</summary>", page)
    assert re.search(r"two or more at once 0 %\. Critical path: \d+ steps", summary), summary
    rows = [[text_of(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page)]
    names = [row[4] for row in rows[1:]]
    assert names[-5:] == ["cuMemsetD8Async", "cuEventRecord", "cuStreamWaitEvent", "cuMemsetD32Async", "cuCtxSynchronize"], names


def gpu_times_have_tracks_below_those_of_the_threads():
    driver = HERE / "driver"
    driver.mkdir()
    shutil.copy(pathlib.Path(FOLDER) / "libcuda.so.1", driver)
    result = said("""
      say($("clock").selectedOptions[0].text); say(clock.tracks);
      const work = clock.items.findIndex(item => item.from !== undefined && item.name === "cuMemsetD8Async");
      keep(work); draw(); say(clock.items[clock.items[work].from].name);
      document.querySelector("#path tbody tr:last-child").click(); say(detail.textContent.split("  ")[2]);""",
                  "--driver", str(driver / "libcuda.so.1"), "--gpu-times")
    assert result == ["of the host, with the GPU", "thread 1,stream#1,stream#2", "cuMemsetD8Async", "cuCtxSynchronize"], result


def findings_of_checkers_are_listed_and_marked_at_their_calls():
    # Without the wait, both memsets write the memory at the same time.
    global PROGRAM
    PROGRAM = PROGRAM.replace(" and cu.cuStreamWaitEvent(streams[1], event, 0) == 0", "")
    result = said("""
      say(document.querySelector("#notes summary").textContent);
      const line = document.querySelector("#notes tbody tr"); say(line.textContent.split("\\n")[0].split(":")[0]);
      line.click(); say(detail.textContent.split("  ")[2]);
      $("clock").value = 1; $("clock").dispatchEvent(new Event("change"));
      line.click(); say(clock.items[kept].name + " " + clock.items[kept].notes.length);""", "--check", "hazards")
    assert result[0] == "Findings and notes: 1" and result[1] == "hazards/unordered", result
    assert result[2] == "cuMemsetD32Async" and result[3] == "cuMemsetD32Async 1", result


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE, ignore_errors=True)
