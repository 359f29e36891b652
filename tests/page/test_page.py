# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser ($GM_BROWSER: chromium or firefox): what it shows against what gmanalyze and gmreplay say of the
same file. 77: there is no such browser, or this build has no page."""

import base64
import glob
import json
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import browser

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "data"))
DEMO = os.path.join(HERE, "..", "data", "demo.gmtrace")
NAME = os.environ.get("GM_BROWSER", "chromium")
ANALYZE, REPLAY, DIFF = (
    os.environ.get(name) or sys.exit(f"{name} names a binary") for name in ("GMANALYZE", "GMREPLAY", "GMDIFF")
)
NONE = 0xFFFFFFFF


def size(count):
    """As reports write sizes; written anew, so that the page is not compared with itself."""
    value, unit = abs(count), 0
    while value >= 1024:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 else 1 if value >= 100 else 2
    text = f"{math.floor(value * 10**digits + 0.5) / 10**digits:.{digits}f}"  # halves go up
    return f"{'-' if count < 0 else ''}{text} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def analysed(snapshot, folder):
    subprocess.run([ANALYZE, "-q", "--results", folder, snapshot, "run"], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "latest", "analysis.json"), encoding="utf-8") as file:
        return json.load(file)


def replayed(snapshot, *options):
    run = subprocess.run([REPLAY, "--json", "-", *options, snapshot], stdout=subprocess.PIPE, check=False)
    return json.loads(run.stdout)["devices"][0]


def cells(page, selector):
    """The rows of a table on the page, as texts."""
    return page.js(
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map(r => [...r.cells].map(c => c.textContent.trim()))",
        selector,
    )


def fact(page, name):
    """The value of a name in the list about the chosen allocation."""
    return page.js(
        """const dt = [...document.querySelectorAll('#selection-facts dt')].find(d => d.textContent === arguments[0]);
        return dt ? dt.nextElementSibling.textContent : null""",
        name,
    )


class Demo(unittest.TestCase):
    """One browser for all; every test begins with a page that is opened anew."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.analysis = analysed(DEMO, cls.folder)
        cls.timeline = cls.analysis["timeline"]["devices"][0]
        cls.html = "file://" + os.path.realpath(os.path.join(cls.folder, "latest", "memory.html"))
        cls.page = cls.enterClassContext(browser.open_browser(NAME))

    def open(self, fragment=""):
        self.page.go("about:blank")
        del self.page.log[:]
        self.page.go(self.html + fragment)
        self.page.wait("document.readyState === 'complete' && !document.body.classList.contains('empty')")
        self.page.wait("document.querySelector('#legend li')")
        self.addCleanup(lambda: self.assertEqual(self.page.log, []))
        return self.page

    def wait_text(self, selector, text):
        self.page.wait(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})")

    def test_headline_is_the_reports(self):
        page = self.open()
        page.wait("document.querySelector('#headline dd')")
        shown = page.js(
            "return [...document.querySelectorAll('#headline dt')].map(d => [d.textContent, d.nextElementSibling.textContent])"
        )
        self.assertEqual(
            shown, [[line["label"], line["text"]] for line in self.analysis["headline"] if line["label"] != "Report"]
        )

    def test_sizes_are_written_as_the_report_does(self):
        page = self.open("#view=findings")
        page.wait("document.querySelector('#findings-body table')")
        text = page.js("return document.getElementById('findings-body').textContent")
        with open(os.path.join(self.folder, "latest", "analysis_report.txt"), encoding="utf-8") as file:
            report = file.read()
        sizes = [size(row["bytes"]) for row in self.timeline["call_sites_at_peak"]["rows"]]
        self.assertGreater(len({word for word in sizes if word in report}), 8)
        self.assertEqual([word for word in sizes if word not in text], [])

    def test_moment_begins_at_the_peak_and_its_tables_are_the_reports(self):
        for group, rows in (
            ("role", self.timeline["roles_at_peak"]),
            ("category", self.timeline["categories_at_peak"]),
            ("site", [{**row, "name": row["label"]} for row in self.timeline["call_sites_at_peak"]["rows"]]),
        ):
            with self.subTest(group):
                page = self.open(f"#group={group}")
                page.wait("document.querySelector('#moment-table tbody tr')")
                self.assertEqual(
                    page.js("return document.getElementById('moment-input').value"), str(self.timeline["peak_event"])
                )
                self.wait_text("#moment-note", f"{size(self.timeline['peak_requested_bytes'])} requested")
                shown = {row[0]: (row[3], row[4]) for row in cells(page, "#moment-table")}
                self.assertEqual({row["name"]: (size(row["bytes"]), f"{row['blocks']:,}") for row in rows}, shown)

    def test_legend_and_tooltip_tell_the_total(self):
        page = self.open()
        total = self.timeline["peaks"]["requested"]
        values = page.js("return [...document.querySelectorAll('#legend li')].map(l => l.innerText)")
        self.assertTrue(any("Activation" in value for value in values), values)
        x, y, width, height = page.box("#timeline-canvas")
        page.hover(x + width - 40, y + height - 60)
        page.wait("!document.getElementById('tip').hidden")
        self.wait_text("#tip", "active")
        self.wait_text("#tip", f"{size(total['reserved_bytes'])} reserved")

    def test_steps_events_by_key_and_says_what_they_did(self):
        page = self.open()
        page.js("document.getElementById('timeline-canvas').focus()")
        page.key("Home")
        self.wait_text("#moment-event", "Before the first event")
        self.wait_text("#moment-facts", f"{size(self.timeline['books']['at_start']['active_bytes'])} active")
        page.key("ArrowRight")
        page.wait("document.getElementById('moment-input').value === '0'")
        page.key("End")
        page.wait(f"document.getElementById('moment-input').value === '{self.timeline['events'] - 1}'")
        self.wait_text("#moment-facts", f"{size(self.timeline['books']['at_end']['active_bytes'])} active")
        self.wait_text("#moment-facts", f"{size(self.timeline['books']['at_end']['reserved_bytes'])} reserved")
        page.key("p")
        page.wait(f"document.getElementById('moment-input').value === '{self.timeline['peak_event']}'")

    def test_wheel_drag_and_keys_zoom_and_the_address_tells_it(self):
        page = self.open()
        x, y, width, height = page.box("#timeline-canvas")
        page.wheel(x + width / 2, y + height / 2, -300)
        page.wait("/from=/.test(location.hash)")
        first = page.js("return location.hash")
        page.drag(
            (x + width * 0.4, y + height / 2), (x + width * 0.5, y + height / 2), (x + width * 0.6, y + height / 2)
        )
        page.wait(f"location.hash !== {json.dumps(first)}")
        span = [float(value) for value in re.findall(r"(?:from|to)=([0-9.]+)", page.js("return location.hash"))]
        self.assertLess(span[1] - span[0], self.timeline["events"] / 4)
        page.js("document.getElementById('timeline-canvas').focus()")
        page.key("0")
        page.wait("!/from=/.test(location.hash)")

    def test_bar_is_clicked_and_its_stack_read(self):
        peak = self.timeline["peak_event"]
        page = self.open(f"#from={peak - 300}&to={peak + 300}")
        page.wait("document.getElementById('timeline-canvas').getAttribute('data-bars') > 0")
        x, y, width, height = page.box("#timeline-canvas")
        page.click(x + width * 0.6, y + height - 40)  # the oldest lies lowest
        page.wait("!document.getElementById('selection').hidden && document.querySelector('#selection-facts dd')")
        self.assertRegex(fact(page, "Address"), "^0x[0-9a-f]+$")
        page.wait("/sel=[0-9]+/.test(location.hash)")

    def test_allocations_are_all_there_sorted_and_filtered(self):
        page = self.open("#view=allocations")
        total = self.timeline["allocs"] + self.timeline["books"]["baseline_blocks"]
        self.wait_text("#allocations-line", f"{total:,} allocations")
        first = page.wait("document.querySelector('.virtual .inner .row')?.innerText")
        self.assertIn(size(1648361472), first)  # the largest of the growths in analysis.json
        page.js("document.querySelector('.virtual .inner .row').click()")
        page.wait("document.querySelector('.frames li')")
        self.assertIn("1,648,361,472 B", fact(page, "Block"))
        page.go(self.html + "#view=allocations&role=Optimizer+state")
        role = next(row for row in self.analysis["roles"] if row["name"] == "Optimizer state")
        self.wait_text("#allocations-line", f"{role['blocks']:,} allocations, {size(role['bytes'])}")
        page.go(self.html + "#view=allocations&text=loss.py&alive=moment")
        rows = [
            row
            for row in self.timeline["call_sites_at_peak"]["rows"]
            if any("loss.py" in f["filename"] for f in row["frames"])
        ]
        self.wait_text("#allocations-line", f"{sum(row['blocks'] for row in rows):,} allocations")

    def test_going_elsewhere_is_not_undone(self):
        """What is chosen is written into the address a moment later: not over an address that was gone to meanwhile."""
        page = self.open("#view=allocations")
        page.wait("document.querySelector('.virtual .inner .row')?.innerText")
        page.js(
            """document.querySelector('.virtual .inner .row').click();
            const end = performance.now() + 400;
            while (performance.now() < end);
            location.hash = '#view=allocations&text=loss.py';
            while (performance.now() < end + 400);
            window.settled = end + 1200;"""
        )
        page.wait("document.querySelector('[aria-label=\"in its stack\"]').value === 'loss.py'")
        page.wait("performance.now() > window.settled")
        self.assertIn("text=loss.py", page.js("return location.hash"))

    def test_table_scrolls_to_its_end(self):
        page = self.open("#view=allocations&sort=id&up=1")
        page.wait("document.querySelectorAll('.virtual .inner .row').length > 5")
        page.js("const s = document.querySelector('.virtual .scroll'); s.scrollTop = s.scrollHeight")
        total = self.timeline["allocs"] + self.timeline["books"]["baseline_blocks"]
        page.wait(
            f"[...document.querySelectorAll('.virtual .inner .row')].some(r => r.getAttribute('aria-rowindex') === '{total}')"
        )

    def test_what_if_is_gmreplays(self):
        page = self.open("#view=whatif&conf=expandable_segments:True")
        theirs = replayed(DEMO, "--alloc-conf", "expandable_segments:True")
        self.wait_text("#whatif-reserved", size(theirs["peak_reserved_bytes"]))
        self.wait_text("#whatif-requested", size(theirs["peak_requested_bytes"]))
        page = self.open("#view=whatif&scale=Activation:0.5")
        theirs = replayed(DEMO, "--scale", "Activation=0.5")
        self.wait_text("#whatif-reserved", size(theirs["peak_reserved_bytes"]))
        self.wait_text("#whatif-allocated", size(theirs["peak_allocated_bytes"]))

    def test_limit_is_dragged_until_memory_runs_out(self):
        page = self.open("#view=whatif")
        self.wait_text("#whatif-reserved", size(self.timeline["peak_reserved_bytes"]))
        page.click_on("#whatif-limit")
        page.wait("!document.getElementById('whatif-memory').disabled")
        page.js("""const slider = document.getElementById('whatif-memory');
            for (let value = 800; value >= 400; value -= 20) { slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true})); await new Promise(requestAnimationFrame); }""")
        page.wait("document.getElementById('whatif-fails')")
        page.js("await new Promise(done => setTimeout(done, 500))")  # the address is written a little later
        limit = int(re.search(r"memory=(\d+)", page.js("return location.hash")).group(1))
        theirs = replayed(DEMO, "--memory", str(limit))
        self.wait_text("#whatif-fails", f"Out of memory at event {theirs['oom']['event']:,}")
        self.wait_text("#whatif-reserved", size(theirs["peak_reserved_bytes"]))

    def test_findings_are_the_reports_and_lead_somewhere(self):
        page = self.open("#view=findings")
        page.wait("document.querySelector('#findings-body .finding button')")
        text = page.js("return document.getElementById('findings-body').textContent")
        for finding in self.analysis["findings"]:
            self.assertIn(finding["detail"], text)
        page.js("document.querySelector('#findings-body .finding button').click()")
        page.wait("!/view=findings/.test(location.hash)")
        page.wait("document.querySelector('[role=tabpanel]:not([hidden])').id !== 'panel-findings'")

    def test_a_finding_leads_to_exactly_its_allocations(self):
        page = self.open("#view=findings&role=Activation&min=1GiB")
        page.wait("[...document.querySelectorAll('.where button')].some(b => b.textContent === 'Show them')")
        text = page.js(
            """const b = [...document.querySelectorAll('.where button')].find(b => b.textContent === 'Show them');
            const text = b.parentElement.textContent; b.click(); return text"""
        )
        number, most, event = re.match(r"([\d,]+) allocations, at most ([\d.]+ \w+) at once, after event ([\d,]+)", text).groups()
        self.wait_text("#allocations-line", f"{number} allocations, ")
        self.wait_text("#allocations-line", "of the finding: ")
        page.wait(f"document.getElementById('moment-input').value === '{event.replace(',', '')}'")
        page.js("const s = document.querySelector('[aria-label=alive]'); s.value = 'moment'; s.dispatchEvent(new Event('change'))")
        self.wait_text("#allocations-line", most)  # those that live then are the most that it ever holds
        page.js("[...document.querySelectorAll('#panel-allocations button')].find(b => b.textContent === 'No filter').click()")
        total = self.timeline["allocs"] + self.timeline["books"]["baseline_blocks"]
        self.wait_text("#allocations-line", f"{total:,} allocations")

    def test_the_page_of_a_part_tells_its_report_and_says_so(self):
        results = os.path.join(self.folder, "part")
        options = ["--from", "2000", "--to", "6000", "--ignore", "replayed-settings", "--source", HERE, "--top", "7"]
        subprocess.run([ANALYZE, "-q", "--results", results, *options, DEMO, "part"], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(results, "latest", "analysis.json"), encoding="utf-8") as file:
            part = json.load(file)
        self.page.go("about:blank")
        self.page.go("file://" + os.path.realpath(os.path.join(results, "latest", "memory.html")) + "#view=findings")
        self.page.wait("document.querySelector('#findings-body table')")
        shown = self.page.js("return [...document.querySelectorAll('#headline dd')].map(d => d.textContent)")
        self.assertEqual(shown, [line["text"] for line in part["headline"] if line["label"] != "Report"])
        device = part["timeline"]["devices"][0]
        self.assertIn(device["filter"], self.page.js("return document.getElementById('cut').innerText"))
        self.assertEqual(self.page.js("return document.getElementById('moment-input').value"), str(device["peak_event"]))
        details = self.page.js("return [...document.querySelectorAll('.finding p:not(.muted)')].map(p => p.textContent)")
        told = {item["detail"] for item in part["findings"] + part["to_do"]}
        self.assertLessEqual(set(details), told)
        self.assertEqual(self.page.js("return document.querySelectorAll('#findings-body table')[1].tBodies[0].rows.length"), len(device["call_sites_at_peak"]["rows"]))
        self.page.wait("[...document.querySelectorAll('.where')].every(p => p.querySelector('button'))")

    def test_rows_of_peaks_and_steps_lead_to_their_moment(self):
        page = self.open("#view=findings&at=0")
        page.wait("document.querySelector('#findings-body table')")
        page.js("document.querySelector('#findings-body tbody tr').click()")  # the peak of requested bytes
        page.wait(f"document.getElementById('moment-input').value === '{self.timeline['peak_event']}'")

    def test_layers_by_component_module_and_size(self):
        active = size(self.timeline["peaks"]["requested"]["active_bytes"])
        for group in ("component", "module", "sizes"):
            page = self.open(f"#by={group}&group={group}&category=Attention&life=7&min=1KiB")
            page.wait("document.querySelector('#moment-table tbody tr')")
            self.assertEqual(page.js("return document.getElementById('by').value"), group)
            self.wait_text("#moment-note", f"{active} active")
            row = cells(page, "#moment-table")[0]
            page.js("document.querySelector('#moment-table tbody tr').click()")  # to its allocations, and no other filter
            self.wait_text("#allocations-line", f"{row[4]} allocations, {row[1]}")
            page.js("document.querySelector('.virtual .inner .row').click()")
            page.wait("document.querySelector('#selection-facts dd')")
            self.assertEqual(fact(page, {"sizes": "Size"}.get(group, group.title())), row[0])

    def test_events_are_listed_and_lead_to_their_moment(self):
        page = self.open("#view=events")
        peak = self.timeline["peak_event"]
        self.wait_text("#events-line", f"{self.timeline['events']:,} events")
        page.wait(f"document.querySelector('.events .row.chosen')?.innerText.includes('{peak:,}')")
        page.js("document.querySelector('.events .row.chosen').nextElementSibling.click()")
        page.wait(f"document.getElementById('moment-input').value === '{peak + 1}'")
        page.js("document.getElementById('moment-first').click(); document.getElementById('moment-forward').click()")
        page.wait("document.querySelector('.events .row.chosen [role=cell]')?.innerText === '0'")
        driver = sum(self.timeline[f"segment_{kind}s"] for kind in ("alloc", "free", "map", "unmap"))
        for kind, number in (("made", self.timeline["allocs"]), ("driver", driver), ("oom", self.timeline["ooms"])):
            page.js("const s = document.querySelector('[aria-label=\"kind of events\"]'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", kind)
            self.wait_text("#events-line", f"{number:,} events")

    def test_stacks_add_up_to_the_peak_and_are_searched(self):
        page = self.open("#view=stacks")
        self.wait_text("#stacks-line", size(self.timeline["peak_requested_bytes"]))
        page = self.open("#view=stacks&find=train_step")
        self.wait_text("#stacks-line", "Found")
        page = self.open("#view=stacks&find=(")
        self.wait_text("#stacks-line", "No regular expression")

    def test_addresses_add_up_to_what_is_reserved(self):
        page = self.open(f"#view=space&at={self.timeline['events']}")
        books = self.timeline["books"]["at_end"]
        self.wait_text(
            "#space-note", f"{self.analysis['totals']['segments']} segments, {size(books['reserved_bytes'])}"
        )
        self.wait_text(
            "#space-note",
            f"{self.analysis['totals']['inactive_blocks']} free, {size(self.analysis['totals']['inactive_bytes'])}",
        )
        self.wait_text("#space-note", f"the largest {size(self.analysis['fragmentation']['largest_inactive_bytes'])}")

    def test_link_shows_what_its_sender_saw(self):
        page = self.open("#by=category&axis=time&view=moment&group=category&at=100&theme=dark")
        page.wait("document.querySelector('#moment-table tbody tr')")
        self.assertEqual(
            page.js(
                "return [document.getElementById('by').value, document.getElementById('axis').value, document.getElementById('moment-input').value]"
            ),
            ["category", "time", "99"],
        )
        self.assertTrue(page.js("return document.documentElement.classList.contains('dark')"))

    def test_every_control_has_a_name_and_nothing_is_wider_than_a_phone(self):
        self.addCleanup(self.page.resize, 1280, 800)
        for view in ("moment", "space", "stacks", "allocations", "events", "heat", "whatif", "findings", "compare"):
            self.page.resize(400, 800)
            page = self.open(f"#view={view}")
            if view == "findings":
                page.wait("document.querySelector('#findings-body table')")
            self.assertLessEqual(
                page.js("return document.documentElement.scrollWidth"), page.js("return innerWidth"), view
            )
            for width in (400, 1280):
                page.resize(width, 800)
                nameless = page.js("""return [...document.querySelectorAll('button, select, input:not([type=file]), canvas, [role=table]')]
                    .filter(e => !(e.getAttribute('aria-label') || e.innerText?.trim() || e.closest('label')?.innerText.trim() || e.labels?.length || e.title || e.ariaHidden)).map(e => e.outerHTML.slice(0, 80))""")
                self.assertEqual(nameless, [], (view, width))

    def test_tables_are_copied(self):
        page = self.open("#group=role")
        page.wait("document.querySelector('#moment-table tbody tr')")
        page.js("""window.copied = null; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async text => { window.copied = text; }}});
            [...document.querySelectorAll('#panel-moment .copies button')].find(b => b.textContent === 'CSV').click()""")
        text = page.wait("window.copied")
        role = self.timeline["roles_at_peak"][0]
        self.assertIn(f"{role['name']},", text)
        self.assertEqual(len(text.strip().split("\n")), 1 + len(self.timeline["roles_at_peak"]))


    def test_two_fingers_zoom(self):
        page = self.open()
        x, y, width, height = page.box("#timeline-canvas")
        middle = y + height / 2
        page.pinch([(x + width * 0.45, middle), (x + width * 0.55, middle)], [(x + width * 0.25, middle), (x + width * 0.75, middle)])
        page.wait("/from=/.test(location.hash)")
        begin, end = (float(value) for value in re.findall(r"(?:from|to)=([0-9.]+)", page.js("return location.hash")))
        self.assertAlmostEqual((end - begin) / self.timeline["events"], 0.2, delta=0.03)

    def test_pictures_are_copied(self):
        page = self.open("#map=1")
        page.wait("!document.querySelector('canvas.map').hidden")
        page.js("""window.copied = []; window.ClipboardItem = class { constructor(parts) { this.parts = parts; } };
            Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
                write: async items => { window.copied.push(items[0].parts['image/png']); },
                writeText: async text => { window.copied.push(text); }}})""")
        for view in ("#timeline", "#panel-moment"):
            for kind in ("PNG", "SVG"):
                page.js("window.copied.length = 0; [...document.querySelectorAll(arguments[0] + ' .copies button')].find(b => b.textContent === arguments[1]).click()", view, kind)
                page.wait("window.copied.length")
            kind, texts = page.js("""const picture = new DOMParser().parseFromString(window.copied[0], 'image/svg+xml').documentElement;
                return [picture.tagName, [...picture.querySelectorAll('text')].map(t => t.textContent)]""")
            self.assertEqual(kind, "svg")
            self.assertTrue(any("GiB" in text for text in texts), texts)
        page.js("[...document.querySelectorAll('#timeline .copies button')].find(b => b.textContent === 'PNG').click()")
        page.wait("window.copied.length > 1")
        size_of, head = page.js("const b = window.copied[1]; return [(await createImageBitmap(b)).width, [...new Uint8Array(await b.slice(0, 4).arrayBuffer())]]")
        self.assertEqual(head, [0x89, 0x50, 0x4E, 0x47])
        self.assertGreater(size_of, 600)

    def test_names_are_not_cut(self):
        """In a window of 1,280 pixels: the line that made an allocation, and the settings that can be tried."""
        page = self.open("#view=allocations")
        page.wait("document.querySelector('#panel-allocations [role=row]:not(.head)')")
        cut = "return [...document.querySelectorAll(arguments[0])].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
        self.assertEqual(page.js(cut, "#panel-allocations [role=row]:not(.head) > :nth-child(11)"), [])
        page = self.open("#view=whatif")
        page.wait("document.querySelector('#panel-whatif label.scale > span')")
        self.assertEqual(page.js(cut, "#panel-whatif label.scale > span"), [])

    def test_peak_is_named_inside_of_the_picture(self):
        """Wherever the peak lies: its name turns to the left where there is no room for it."""
        whole, peak = self.timeline["events"], self.timeline["peak_event"]
        page = self.open()
        page.js("""Object.defineProperty(navigator, 'clipboard', {configurable: true,
                value: {writeText: async text => { window.copied = text; }}})""")
        width = page.js("return document.querySelector('#timeline-canvas').clientWidth")
        for room in range(60, 130, 10):  # pixels between the peak and the right end
            page.js("location.hash = arguments[0]", f"from={peak - 1000}&to={peak + 1000 * room / (width - 110 - room)}")
            page.wait("location.hash.includes('from=')")
            page.js("""window.copied = ''; return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))""")
            page.js("[...document.querySelectorAll('#timeline .copies button')].find(b => b.textContent === 'SVG').click()")
            page.wait("window.copied")
            right, end = page.js("""const box = document.createElement('div'); box.innerHTML = window.copied; document.body.append(box);
                const svg = box.querySelector('svg'), text = [...svg.querySelectorAll('text')].find(t => t.textContent.startsWith('peak '));
                const found = [text ? text.getBBox().x + text.getBBox().width : 0, svg.viewBox.baseVal.width || svg.getBBox().width];
                box.remove(); return found""")
            self.assertGreater(right, 0, room)
            self.assertLess(right, end - 10, room)

    def test_prints(self):
        for view in ("moment", "allocations", "events", "findings"):
            page = self.open(f"#view={view}")
            page.wait(f"document.querySelector('#panel-{view} [role=row], #panel-{view} tbody tr')")
            path = os.path.join(self.folder, view + ".pdf")
            page.pdf(path)
            with open(path, "rb") as file:
                data = file.read()
            self.assertTrue(data.startswith(b"%PDF-"))
            self.assertLess(len(re.findall(rb"/Type */Page\b", data)), 12)

    def test_every_locale_reads_the_same(self):
        if NAME != "chromium":
            self.skipTest("only chromium is told another locale while it runs")
        told = set()
        self.addCleanup(self.page.speak, None)
        for locale in (None, "de-DE", "tr-TR"):
            self.page.speak(locale)
            page = self.open("#view=findings&group=role")
            page.wait("[...document.querySelectorAll('.where')].every(p => p.querySelector('button'))")
            if locale:
                self.assertEqual(page.js("return new Intl.NumberFormat().resolvedOptions().locale"), locale)
                self.assertIn("I", page.js("return 'i'.toUpperCase()"))
            told.add(page.js("return document.body.innerText.replace(/\\d+ ms/g, '')"))
        self.assertEqual(len(told), 1)

    def test_a_trap_says_so_and_one_can_go_on(self):
        page = self.open("#group=role")
        page.wait("document.querySelector('#moment-table tbody tr')")
        # The next question about a moment frees what is no memory: the core stops in the midst of it.
        page.js("""const post = Worker.prototype.postMessage;
            Worker.prototype.postMessage = function (message, ...more) {
                if (message.name === 'moment') { Worker.prototype.postMessage = post; message = {...message, name: 'free', args: [0xfffffff0]}; }
                return post.call(this, message, ...more);
            };
            const groups = document.querySelector('#panel-moment select');
            groups.value = 'category'; groups.dispatchEvent(new Event('change'))""")
        self.wait_text("#says", "The core stopped")
        page.js("const g = document.querySelector('#panel-moment select'); g.value = 'pool'; g.dispatchEvent(new Event('change'))")
        page.wait("[...document.querySelectorAll('#moment-table tbody tr')].some(r => /small|large/.test(r.innerText))")
        self.assertEqual(page.js("return document.getElementById('moment-input').value"), str(self.timeline["peak_event"]))
        page.js("document.getElementById('timeline-canvas').focus()")
        page.key("Home")
        self.wait_text("#moment-event", "Before the first event")


class Viewer(unittest.TestCase):
    """The empty page, and files that are given to it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.html = os.path.join(cls.folder, "viewer.html")
        subprocess.run([ANALYZE, "--viewer", cls.html], check=True, stdout=subprocess.DEVNULL)
        cls.page = cls.enterClassContext(browser.open_browser(NAME))

    def setUp(self):
        self.page.go("about:blank")
        del self.page.log[:]
        self.page.go("file://" + self.html)
        self.page.wait("document.readyState === 'complete' && document.getElementById('welcome')")

    def give(self, *paths):
        self.page.give_files("#files", paths)

    def test_size(self):
        self.assertLess(os.path.getsize(self.html), 1 << 20)

    def test_two_runs_are_compared(self):
        other = os.path.join(self.folder, "other.pickle")
        subprocess.run(
            [REPLAY, "--alloc-conf", "expandable_segments:True", "-o", other, DEMO],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        results = os.path.join(self.folder, "diff")
        subprocess.run([DIFF, "-q", "--results", results, DEMO, other], check=False, stdout=subprocess.DEVNULL)
        with open(glob.glob(results + "/latest/diff.json")[0], encoding="utf-8") as file:
            theirs = json.load(file)
        self.give(DEMO)
        self.page.wait("!document.body.classList.contains('empty')")
        self.give(other)
        self.page.wait("!document.getElementById('run-choice').hidden")
        self.page.js("document.getElementById('tab-compare').click()")
        self.page.wait("document.querySelector('#compare-headline')")
        self.assertEqual(
            self.page.js("return document.getElementById('compare-headline').textContent"), theirs["headline"]
        )
        # Seen from the first run it is the same: what was opened first is what was before.
        self.page.js("const run = document.getElementById('run'); run.value = 0; run.dispatchEvent(new Event('input'))")
        self.page.wait("document.getElementById('compare-base').value === '1'")
        self.page.wait(f"document.querySelector('#compare-headline')?.textContent === {json.dumps(theirs['headline'])}")

    def test_damaged_file_is_one_line_with_the_offset(self):
        bad = os.path.join(self.folder, "bad.gmtrace")
        with open(DEMO, "rb") as file:
            data = file.read()
        with open(bad, "wb") as file:
            file.write(data[: len(data) // 2])
        self.give(bad)
        self.page.wait("document.getElementById('says').classList.contains('bad')")
        text = self.page.js("return document.getElementById('says').innerText")
        self.assertRegex(text, r"bad\.gmtrace: .*(offset|byte) [\d,]+")
        self.assertNotIn("\n", text)
        self.give(DEMO)  # and one can go on
        self.page.wait("!document.body.classList.contains('empty')")

    def test_files_are_dropped(self):
        with open(DEMO, "rb") as file:
            demo = base64.b64encode(file.read()).decode()
        self.drop("[new File([Uint8Array.from(atob(arguments[0]), c => c.charCodeAt(0))], 'dropped.gmtrace')]", demo)
        self.page.wait("!document.body.classList.contains('empty')")
        self.page.wait("document.querySelector('#legend li')")
        self.assertEqual(self.page.js("return document.getElementById('title').innerText"), "dropped.gmtrace")

    def drop(self, files, *args):
        self.page.js(f"""const files = {files}, data = new DataTransfer();
            for (const file of files) data.items.add(file);
            const event = kind => new DragEvent(kind, {{dataTransfer: data, bubbles: true, cancelable: true}});
            document.body.dispatchEvent(event('dragover'));
            if (!document.body.classList.contains('dropping')) throw Error('it is not said that files may be dropped');
            document.body.dispatchEvent(event('drop'));""", *args)

    def test_a_file_over_4_gib_says_what_to_do(self):
        self.drop("[new File(Array(41).fill(new Blob([new Uint8Array(100 << 20)])), 'huge.pickle')]")
        self.page.wait("document.getElementById('says').classList.contains('bad')", 60)
        text = self.page.js("return document.getElementById('says').innerText")
        self.assertRegex(text, "huge.pickle: .*4 GiB.*gmanalyze.*--from")
        self.assertEqual(self.page.log, [])
        self.give(DEMO)
        self.page.wait("!document.body.classList.contains('empty')")

    def test_names_never_become_markup(self):
        from caching_allocator import Allocator

        evil = "<img src=x onerror=window.hurt=1><script>window.hurt=1</script>"
        allocator = Allocator(0, 0x7F0000000000, iter(range(10**6, 10**9, 100)).__next__)
        allocator.recording = True
        for line in range(20):
            allocator.alloc(1 << 20, [{"name": evil, "filename": f"/{evil}.py", "line": line}])
        path = os.path.join(self.folder, evil.replace("/", "_") + ".pickle")
        with open(path, "wb") as file:
            pickle.dump({"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace]}, file)
        self.give(path)
        self.page.wait("!document.body.classList.contains('empty')")
        for view in ("moment", "stacks", "allocations", "findings"):
            self.page.js("document.getElementById('tab-' + arguments[0]).click()", view)
            self.page.wait(f"!document.getElementById('panel-{view}').hidden")
        self.page.js("document.getElementById('tab-allocations').click()")
        self.page.wait("document.querySelector('.virtual .inner .row')")
        self.page.js("document.querySelector('.virtual .inner .row').click()")
        self.page.wait("document.querySelector('.frames li')")
        self.assertIn("<img", self.page.js("return document.querySelector('.frames').textContent"))
        self.assertEqual(
            self.page.js("return [document.querySelectorAll('img').length, window.hurt ?? null]"), [0, None]
        )

    def test_a_snapshot_without_memory_or_without_a_trace_is_shown(self):
        for name, snapshot in (
            ("empty", {"segments": [], "device_traces": []}),
            (
                "traceless",
                {
                    "segments": [
                        {
                            "device": 0,
                            "address": 0x7F0000000000,
                            "total_size": 2 << 20,
                            "allocated_size": 0,
                            "active_size": 0,
                            "stream": 0,
                            "segment_type": "small",
                            "blocks": [{"size": 2 << 20, "state": "inactive"}],
                        }
                    ],
                    "device_traces": [[]],
                },
            ),
        ):
            with self.subTest(name):
                self.setUp()
                path = os.path.join(self.folder, name + ".pickle")
                with open(path, "wb") as file:
                    pickle.dump(snapshot, file)
                self.give(path)
                self.page.wait("document.querySelector('#headline dd')")
                self.assertEqual(
                    self.page.js("return document.getElementById('timeline-canvas').getClientRects().length"), 0
                )
                self.assertEqual(
                    (self.page.log, self.page.js("return document.getElementById('says').innerText")), ([], "")
                )

    def test_real_files_keep_their_totals(self):
        """Some real snapshots, where they are beside the checkout: the page's headline is the report's."""
        found = sorted(
            glob.glob(os.path.join(HERE, "..", "..", "..", "shared", "snapshots", "*.pickle")), key=os.path.getsize
        )
        for path in found[:: max(len(found) // 4, 1)][:4]:
            with self.subTest(os.path.basename(path)):
                self.setUp()
                theirs = analysed(path, os.path.join(self.folder, "real"))
                self.give(path)
                self.page.wait("document.querySelector('#headline dd')", 60)
                shown = self.page.js("return [...document.querySelectorAll('#headline dd')].map(d => d.textContent)")
                lines = theirs["headline"] or theirs["headline_at_end"]
                self.assertEqual(shown, [line["text"] for line in lines if line["label"] != "Report"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        has_page = subprocess.run([ANALYZE, "--viewer", empty + "/p.html"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not browser.program(NAME) or not has_page:
        print(f"skipped: there is no {NAME}, or this build has no page")
        sys.exit(77)
    unittest.main()
