#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py SITE WARNINGS [--browser CHROMIUM]: fails if the site of tools/dev docs has a broken link, if Doxygen printed
a warning, or if the search in a headless browser finds nothing."""
import argparse
import functools
import html.parser
import http.server
import re
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

# Declarations that need no comment: data members, enumerators, and functions whose meaning the language
# defines.
NEEDS_NO_COMMENT = re.compile(
    r"\((variable|enumvalue)\)"
    r"|Member (operator\W.*|swap\(.*|is_flags\(.*)"
    r"|Member (\w+)\(.*\) .*(class|struct) (\w+::)*\3(<.*>)? is not"  # constructors
    r"|Member \w+\(\) const (noexcept )?\(function\)"                   # accessors
    r"|Member \w+\(.*\) ?-> "                                             # deduction guides
    r"|Member (element_type|value_type) \(typedef\)"                     # as in std::span
    r"|Member \w+_\(.*\) \(macro definition\)"                           # for other macros
    r"|documented symbol .* was not declared or defined"                 # friends
    r"|Compound \S+< .*> is not documented")                             # specializations


class Page(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(errors="replace"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links += [values[name] for name in ("href", "src") if values.get(name)]


def broken_links(site):
    pages = {path.name: Page(path) for path in sorted(site.glob("*.html"))}
    for name, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = urllib.parse.unquote(parts.path) or name
            if not (site / target).exists():
                yield f"{name}: {link} does not exist"
            elif parts.fragment == "nested-classes":
                pass  # Doxygen links to this section but omits it for private classes
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {link} has no such anchor"


# A page that types a word into the search field of the front page and writes the number of results into its
# title.
PROBE = """<!DOCTYPE html><title>waiting</title><iframe id="site" src="index.html" width="1200" height="800"></iframe>
<script>
document.getElementById("site").onload = function () {
  const site = this.contentWindow, field = site.document.getElementById("MSearchField");
  site.searchBox.OnSearchFieldFocus(true);
  field.value = "WORD";
  site.searchBox.OnSearchFieldChange({keyCode: 0, which: 0});
  site.searchBox.Search();
  let looks = 0;
  const look = setInterval(() => {
    const results = [site.document, ...[...site.document.querySelectorAll("iframe")].map(one => one.contentDocument)];
    const found = results.flatMap(one => one ? [...one.querySelectorAll(".SRResult")] : [])
                         .filter(one => one.style.display !== "none" && one.textContent.includes("WORD"));
    if (found.length || ++looks > 100) { clearInterval(look); document.title = "found " + found.length; }
  }, 50);
};
</script>
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    word = ""

    def do_GET(self):
        if self.path != "/probe.html":
            return super().do_GET()
        body = PROBE.replace("WORD", self.word).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def search_finds(site, browser, word):
    Handler.word = word
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom",
               f"http://127.0.0.1:{server.server_port}/probe.html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    server.shutdown()
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    return int(title[1].split()[1]) if title and title[1].startswith("found ") else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("warnings", type=Path)
    parser.add_argument("--browser")
    options = parser.parse_args()
    problems = sorted({line for line in options.warnings.read_text().splitlines() if not NEEDS_NO_COMMENT.search(line)})
    problems += sorted(set(broken_links(options.site)))
    if options.browser:
        for word in ("DeviceBuffer", "explore"):
            # On a busy machine a browser's time may end before the page is loaded.
            if not any(search_finds(options.site, options.browser, word) for _ in range(5)):
                problems.append(f"the search does not find {word}")
    print("\n".join(problems) if problems else f"the site is in {options.site}/index.html; no broken link")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
