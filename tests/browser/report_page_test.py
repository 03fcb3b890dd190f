#!/usr/bin/env python3
"""Opens pages of `refit report`, of scenarios and of sweeps, in a real browser: nothing is asked of a network, no script complains,
every section is there, keys do what they say, dark and light and narrow windows work.

  report_page_test.py REFIT [SCENARIO[:STRATEGIES]]... [--pictures FOLDER]

Exit status 77: there is no Chromium."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import dev_tools

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECTIONS = ["strategies", "time", "layouts", "bytes", "load", "timeline", "memory", "transfers", "checks",
            "sensitivity", "provenance", "scenario"]
EVIL = "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)> @@data@@ &amp; <!--"

failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def run(refit, *arguments):
    return subprocess.run([refit, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def evil_scenario(folder):
    """A small scenario whose every text tries to be read as HTML."""
    with open(os.path.join(ROOT, "scenarios/small/tensors_two_axes.yaml"), encoding="utf-8") as file:
        text = re.sub(r"^scenario: .*$", lambda _: f"scenario: \"{EVIL}\"", file.read(), flags=re.M)
    text = re.sub(r"name: (\w+)", lambda m: f"name: \"{m[1]}<script>alert(this)\"", text)
    path = os.path.join(folder, "evil.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def draw_all(browser):
    """As before printing: charts that are far below, too."""
    browser.js("window.dispatchEvent(new Event('beforeprint'))")


def check_sections(browser, name, sections=SECTIONS):
    draw_all(browser)
    check(browser.js("[...document.querySelectorAll('main section')].map(s => s.id).join()") == ",".join(sections),
          f"{name}: every section is there, in order")
    empty = browser.js("[...document.querySelectorAll('main section')].filter(s => s.querySelector('.body')"
                       ".textContent.trim().length < 20).map(s => s.id).join()")
    check(empty == "", f"{name}: sections say something, but not {empty}")
    check(browser.js("document.querySelectorAll('h1').length") == 1, f"{name}: one h1")
    unnamed = browser.js("[...document.querySelectorAll('svg:not([aria-hidden])')].filter(s => s.getAttribute('role') "
                         "&& !s.getAttribute('aria-label')).length")
    check(unnamed == 0, f"{name}: every drawing has a name")
    blank = browser.js("[...document.querySelectorAll('figure > svg')].filter(s => s.getBoundingClientRect().height < 20).length")
    check(blank == 0, f"{name}: every drawing is drawn")
    check(browser.js("[...document.querySelectorAll('figure')].every(f => f.closest('section').querySelector('details, table'))"), f"{name}: a table for every chart")
    check(browser.js("[...document.querySelectorAll('select, input')].every(e => e.labels.length > 0)"),
          f"{name}: every control has a label")
    check(not browser.js("/NaN|undefined|Infinity/.test(document.querySelector('main').textContent.replace("
                         "document.querySelector('#scenario')?.textContent, ''))"), f"{name}: no NaN, no undefined")
    bad = browser.js("[...document.querySelectorAll('svg *')].filter(e => /NaN|undefined|Infinity/.test("
                     "['d','x','y','width','height'].map(a => e.getAttribute(a)).join())).length")
    check(bad == 0, f"{name}: {bad} shapes with broken coordinates")


def check_table(browser, name, printed):
    """The page's table has the numbers of `simulate`'s, cell by cell."""
    rows = browser.js("[...document.querySelectorAll('#strategies table')[0].tBodies[0].rows].map("
                      "r => [...r.cells].map(c => c.textContent))")
    for row in rows:
        cells = row[:8] + row[9:]  # simulate prints the band elsewhere
        line = next((l for l in printed.split("\n") if re.match(re.escape(row[0]) + r"\s", l)), "")
        check(re.split(r"\s{2,}", line.strip()) == cells, f"{name}: simulate prints {line!r}, the page {cells}")


def check_keys(browser, name):
    shown = "document.querySelector('#timeline .controls span').textContent"
    before = browser.js(shown)
    browser.js("document.querySelector('#timeline figure svg').focus()")
    browser.press("+", "+")
    zoomed = browser.js(shown)
    check(zoomed != before, f"{name}: + zooms the timeline")
    browser.press("ArrowRight")
    check(browser.js(shown) != zoomed, f"{name}: right moves the timeline")
    browser.press("0", "0")
    check(browser.js(shown) == before, f"{name}: 0 shows all of it again")
    readout = "document.querySelector('#timeline .readout').textContent"
    browser.press("ArrowDown")
    row = browser.js(readout)
    browser.press("ArrowDown")
    check(browser.js(readout) != row, f"{name}: down chooses the next row")

    boxes = "document.querySelectorAll('#transfers [role=button]').length"
    if browser.js("document.querySelectorAll('#transfers [aria-expanded=false]').length"):
        browser.js("document.querySelector('#transfers [aria-expanded=false]').focus()")
        count = browser.js(boxes)
        browser.press("Enter", "\r")
        check(browser.until(f"{boxes} > {count}"), f"{name}: Enter opens a domain")
        check(browser.until("document.activeElement.getAttribute('aria-expanded') === 'true'"), f"{name}: focus stays on it")
        browser.press("Enter", "\r")
        check(browser.until(f"{boxes} === {count}"), f"{name}: Enter closes it again")

    browser.js("document.querySelector('#layouts figure svg').focus()")
    cell = browser.js("document.querySelector('#layouts .readout').textContent")
    browser.press("ArrowRight")
    check(browser.js("document.querySelector('#layouts .readout').textContent") != cell, f"{name}: right chooses the next rank")

    browser.js("document.querySelector('details summary').focus()")
    browser.press("Enter", "\r")
    check(browser.js("document.querySelector('details').open"), f"{name}: Enter opens a table")
    browser.js("document.body.focus(); document.querySelector('.skip').focus()")
    check(browser.js("getComputedStyle(document.querySelector('.skip')).left") == "16px", f"{name}: the skip link shows when it has the focus")


def check_choices(browser, name):
    """Every plan, every kind of tensors and every colouring can be chosen."""
    for select in ("#plan", "#layouts select", "#memory select"):
        for i in range(min(6, browser.js(f"document.querySelector('{select}').options.length"))):
            browser.js(f"(s => {{ s.selectedIndex = {i}; s.dispatchEvent(new Event('change')); }})(document.querySelector('{select}'))")
            for by in range(browser.js("document.querySelectorAll('#layouts input').length") if "layouts" in select else 0):
                browser.js(f"document.querySelectorAll('#layouts input')[{by}].click()")
    check_sections(browser, name + " after choices")


def visit(browser, refit, scenario, strategy, folder, pictures, compare):
    name = os.path.splitext(os.path.basename(scenario))[0]
    page = os.path.join(folder, name + ".html")
    more = ["--strategy", strategy] if strategy else []
    run(refit, "report", scenario, "-o", page, *more, *([] if compare else ["--no-what-ifs"]))
    size = os.path.getsize(page)
    check(size < 5e6, f"{name}: {size} bytes are less than 5 MB")
    browser.open(page)
    print(f"{name}: {size / 1e6:.2f} MB, drawn {browser.js('document.documentElement.dataset.ready')} ms after it was opened")
    check_sections(browser, name)
    if compare:  # once: it costs as much as the page
        check_table(browser, name, run(refit, "simulate", scenario, *more))
    light = browser.js("getComputedStyle(document.body).backgroundColor")
    if pictures:
        browser.pictures(os.path.join(pictures, f"{name}_1280_light"), 1280)
    check_keys(browser, name)
    browser.scheme("dark")
    check(browser.js("getComputedStyle(document.body).backgroundColor") != light, f"{name}: dark is not light")
    if pictures:
        browser.pictures(os.path.join(pictures, f"{name}_1280_dark"), 1280)
    check_choices(browser, name)
    found = browser.complaints()
    for scheme in ("light", "dark") if pictures else ("light",):
        browser.open(page, width=400, scheme=scheme)
        draw_all(browser)
        wide = browser.js("document.documentElement.scrollWidth")
        check(wide <= 400, f"{name}: nothing is wider ({wide}) than a window of 400")
        if pictures:
            browser.pictures(os.path.join(pictures, f"{name}_400_{scheme}"), 400)
        found += browser.complaints()
    check(not found, f"{name}: {found}")


def check_evil(browser, refit, folder):
    page = os.path.join(folder, "evil.html")
    run(refit, "report", evil_scenario(folder), "--strategy", "direct", "-o", page)
    browser.open(page)
    check(browser.js("document.querySelector('h1').textContent") == EVIL, "evil: the name is shown as it is")
    check(browser.js("document.title") == EVIL + " - refit report", "evil: the title is the name")
    check(browser.js("document.querySelectorAll('img').length") == 0, "evil: no element comes from the scenario")
    check("<script>alert(this)" in browser.js("document.querySelector('#layouts').textContent"), "evil: names of tensors are texts")
    check_sections(browser, "evil")
    check_keys(browser, "evil")
    found = browser.complaints()
    check(not found, f"evil: {found}")


SWEEP_SECTIONS = ["plot", "fields", "points", "reasons"]


def large_sweep(header):
    """A CSV of 2,000 points in the columns of `header`, some of which do not fit or have no prediction."""
    lines, width = [re.sub("point of .* in", "point of 2000 in", header)], header.count(",") + 1
    for point in range(2000):
        nic, domain, strategy = 100 * 2 ** (point % 5), (8, 36, 72)[point % 3], ("reshard", "direct", EVIL)[point % 7 % 3]
        row = [str(point), f"{nic} Gbit/s", str(domain), '"' + strategy.replace('"', '""') + '"']
        if point % 10 == 0:
            row += ["infeasible", "there is no such layout"]
        else:
            time = (1 + point / 500) * 400 / nic
            row += ["predicted", "", f"{time / 2}", "a link", f"{time}", f"{0.8 * time}", f"{1.3 * time}", "rate",
                    "0.1", "1e9", "1", "a nic", "0.5", "7e10", "8e10", "rank 1: memory" if domain == 8 else ""]
        lines.append(",".join(row + [""] * (width - len(row))))
    return "\n".join(lines) + "\n"


def check_sweep(browser, refit, folder, pictures):
    """A page of plots: of a real sweep, and of 2,000 made-up points."""
    sweep, real, large = (os.path.join(folder, name) for name in ("sweep.yaml", "real.csv", "large.csv"))
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(f"sweep: browser\nbase: {ROOT}/scenarios/small/dense_tp2_to_tp4.yaml\nvary:\n"
                   "  cluster.nic_bandwidth: [200 Gbit/s, 400 Gbit/s]\n"
                   "  training.tensor: [1, 2, 3]\n  strategy: [reshard, direct]\n")
    run(refit, "sweep", sweep, "-o", real)
    with open(real, encoding="utf-8") as file:
        text = large_sweep(file.readline().strip())
    with open(large, "w", encoding="utf-8") as file:
        file.write(text)
    for csv in (real, large):
        name, page = os.path.basename(csv), csv + ".html"
        run(refit, "report", csv, "-o", page)
        browser.open(page)
        print(f"{name}: {os.path.getsize(page) / 1e6:.2f} MB, drawn "
              f"{browser.js('document.documentElement.dataset.ready')} ms after it was opened")
        check_sections(browser, name, SWEEP_SECTIONS)
        for select in range(browser.js("document.querySelectorAll('select').length") if csv == large else 0):
            for i in range(browser.js(f"document.querySelectorAll('select')[{select}].options.length")):
                browser.js(f"(s => {{ s.selectedIndex = {i}; s.dispatchEvent(new Event('change')); }})"
                           f"(document.querySelectorAll('select')[{select}])")
                draw_all(browser)
        check_sections(browser, name + " after choices", SWEEP_SECTIONS)
        browser.open(page)
        draw_all(browser)
        readout = "document.querySelector('#plot .readout').textContent"
        browser.js("document.querySelector('#plot figure svg').focus()")
        first = browser.js(readout)
        check(first.startswith("Point "), f"{name}: the plot says its point: {first}")
        browser.press("ArrowRight")
        check(browser.js(readout) != first, f"{name}: right goes to the next mark")
        browser.press("ArrowLeft")
        browser.press("ArrowDown")
        check(browser.js(readout) != first, f"{name}: down goes to the next line")
        column = "[...document.querySelectorAll('#points tbody tr')].map(r => r.cells[0].textContent).join()"
        browser.js("document.querySelector('#points thead button').focus()")
        browser.press("Enter", "\r")
        ascending = browser.js(column)
        check(ascending.split(",") == sorted(ascending.split(","), key=int), f"{name}: Enter on a heading sorts: {ascending}")
        check(browser.js("document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending",
              f"{name}: the heading keeps the focus and says how it sorts")
        if csv == large:
            browser.js("document.querySelector('#points .more').click()")
            check(browser.js("document.querySelectorAll('#points tbody tr').length") == 550, f"{name}: more rows are shown")
        if pictures:
            browser.pictures(os.path.join(pictures, name), 1280)
        browser.open(page, width=400, scheme="dark")
        draw_all(browser)
        wide = browser.js("document.documentElement.scrollWidth")
        check(wide <= 400, f"{name}: nothing is wider ({wide}) than a window of 400")
        found = browser.complaints()
        check(not found, f"{name}: {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("refit")
    parser.add_argument("scenarios", nargs="*", help="SCENARIO.yaml or SCENARIO.yaml:STRATEGIES")
    parser.add_argument("--pictures", help="folder for pictures of the pages, to be looked at")
    options = parser.parse_args()
    chromium = dev_tools.find_chromium()
    if chromium is None:
        print("skipped: none of " + ", ".join(dev_tools.NAMES) + " is installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="refit-page-") as folder, dev_tools.Browser(chromium) as browser:
        check_evil(browser, options.refit, folder)
        check_sweep(browser, options.refit, folder, options.pictures)
        for i, entry in enumerate(options.scenarios):
            scenario, _, strategy = entry.partition(":")
            visit(browser, options.refit, scenario, strategy, folder, options.pictures, compare=i == 0)
    print("failed" if failures else "passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
