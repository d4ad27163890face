/** Charts in a browser: the time axis, values at the pointer, zoom, keys, and the page of a scan. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { finish, start } from "../cli/program.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { writePolled } from "../store/polls.ts";
import { record, watchId } from "../store/records.ts";
import { LOOKS, Visit, withBrowser } from "./browser.ts";
import { SCAN_PERMISSIONS, withDashboard } from "./served.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 30, 22);

/** A database in which a watch saw 3 players from 22:00 to 23:00, and none of the server after 22:30. */
async function writeWatched(file: string): Promise<void> {
  await using database = openSqlite(file);
  await createTables(database);
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id: watchId(1), kind: "watch", at: START, config: "{}" });
  const row = record(1, {
    seen_at: START,
    players_online: 3,
    players_max: 10,
    latency_ms: 5,
    scan_id: watchId(1),
  });
  const identity = identityOf(row)!;
  const polls = [row, undefined].map((record, i) => ({
    ...{ identity, scanId: watchId(1), at: START + i * HOUR / 2, record },
  }));
  await writePolled(database, [{ identity, at: START, record: row }], polls);
  const spans = [{ startedAt: START, endedAt: START + HOUR }];
  await database.transaction(() => writeSpans(database, watchId(1), spans));
}

/** The time and the state below the first chart. */
const readout = (page: Page) => page.locator("[data-readout]").first();
const shown = async (page: Page) => [
  await readout(page).innerText(),
  ...await page.locator("figure").first().locator("[data-value]").allInnerTexts(),
];

/** Moves the pointer to a share of the width of the first chart. */
async function pointAt(page: Page, share: number): Promise<void> {
  const box = (await page.locator(".u-over").first().boundingBox())!;
  await page.mouse.move(box.x + share * box.width, box.y + box.height / 2);
}

/** The values at the pointer, and by keys. */
async function read(page: Page): Promise<void> {
  await pointAt(page, 0);
  assertEquals(await shown(page), ["29 Jan 23:00 UTC · not watched", "–", "–"]);
  await pointAt(page, 0.9999);
  assertMatch((await shown(page))[0], /^5 Feb 2[23]:\d\d UTC · not watched$/);
  await page.locator("[data-plot]").first().focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  assertEquals(await shown(page), ["30 Jan 22:00 UTC", "10", "3"]);
  assertEquals(
    await page.locator("[data-spoken]").first().innerText(),
    "30 Jan 22:00 UTC, slots 10, players 3",
  );
  await page.keyboard.press("Control+ArrowRight"); // a key of the browser
  assertEquals(await shown(page), ["30 Jan 22:00 UTC", "10", "3"]);
  await page.keyboard.press("ArrowRight");
  assertEquals(await shown(page), ["30 Jan 22:30 UTC · offline", "–", "–"]);
  await page.keyboard.press("Escape");
  assertMatch(await readout(page).innerText(), /^Drag to zoom/);
}

/** Drags over a part of the first chart. */
async function drag(page: Page): Promise<void> {
  await pointAt(page, 0.12);
  await page.mouse.down();
  await pointAt(page, 0.16);
  await page.mouse.up();
}

/** The times of both charts at the pointer of the first one, without states. */
const timesAtPointer = async (page: Page) => {
  const all = await page.locator("[data-readout]").allInnerTexts();
  return all.map((text) => text.replace(/ UTC.*/, ""));
};

/** The charts share the cursor and the enlarged time, which a reload shows again. */
async function share(page: Page): Promise<void> {
  await drag(page);
  await pointAt(page, 0.8);
  const [first, second] = await timesAtPointer(page);
  assertEquals(second, first);
  const { hash } = new URL(page.url());
  assertMatch(hash, /^#zoom=\d+-\d+$/);
  await page.reload();
  await pointAt(page, 0.8);
  assertEquals(await timesAtPointer(page), [first, first]);
  assertEquals(await page.locator("[data-reset]:visible").count(), 2);
  await page.locator("[data-reset]").last().click();
  assertEquals(await page.locator("[data-reset]:visible").count(), 0);
  assertEquals(new URL(page.url()).hash, "");
}

/** Enlarges a part, and returns by double click, by Escape and by the button. */
async function zoom(page: Page): Promise<void> {
  const button = page.locator("[data-reset]").first();
  const left = async () => {
    await pointAt(page, 0.001);
    return await readout(page).innerText();
  };
  const start = await left();
  for (const reset of ["double click", "Escape", "button"]) {
    await drag(page);
    assert(await button.isVisible(), reset);
    assertMatch(await left(), /^30 Jan 1\d:\d\d/);
    if (reset === "double click") await page.locator(".u-over").first().dblclick();
    else if (reset === "button") await button.click();
    else {
      await page.locator("[data-plot]").first().focus();
      await page.keyboard.press("Escape");
    }
    assert(!await button.isVisible(), reset);
    assertEquals(await left(), start);
  }
}

Deno.test("a chart has the period of its title, values at each position and by keys, and a zoom", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    await writeWatched(database);
    const from = START - 23 * HOUR;
    const path = `/servers/1?from=${from}&to=${from + 7 * 24 * HOUR}`;
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        for (const look of [LOOKS[0], LOOKS[3]]) {
          await using visit = await Visit.start(browser, origin, look);
          await visit.open(path);
          await read(visit.page);
          await zoom(visit.page);
          await share(visit.page);
          await visit.page.locator("summary").first().click();
          assertEquals(
            await visit.page.locator(".chart-table tbody tr").first().innerText(),
            [
              ...["2026-01-29 23:00:00", "2026-01-30 22:00:00", "not watched"],
            ].join("\t"),
          );
          await visit.check();
        }
        const look = { ...LOOKS[0], withoutScripts: true };
        await using visit = await Visit.start(browser, origin, look);
        await visit.open(path);
        assert(!await visit.page.locator("[data-plot]").first().isVisible());
        await visit.page.locator("summary").first().click();
        assert(await visit.page.locator(".chart-table table").first().isVisible());
      }));
  }));

Deno.test("the charts of a running scan begin with the scan, also after a reload", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    const options = ["-p", "1", "--protocol", "raknet", "-o", database, "-q"];
    const scan = start(["scan", "127.99.0.0/22", ...options, "--rate", "20"], {
      permissions: SCAN_PERMISSIONS,
    });
    const ended = finish(scan);
    await untilExists(database);
    try {
      await withDashboard(database, (origin) =>
        withBrowser(async (browser) => {
          const { scans: [{ scan_id: id, started_at: began }] } = await json(`${origin}/api/scans`);
          await using visit = await Visit.start(browser, origin, LOOKS[0]);
          const { page } = visit;
          await visit.open(`/scans/${id}`);
          await page.locator("[data-live=probes-rate]").filter({ hasText: /\d/ }).waitFor();
          await page.reload({ waitUntil: "load" });
          const data = await page.locator("[data-live-chart=probes] script").innerHTML();
          const { from, to, pieces } = JSON.parse(data);
          assertEquals([from, pieces[0][0], pieces.at(-1)[1]], [began, began, to]);
          await page.locator("[data-plot]").first().focus();
          await page.keyboard.press("Home");
          assertMatch(await readout(page).innerText(), /^\d+ \w+ \d\d:\d\d/);
          await visit.check();
        }));
    } finally {
      scan.kill("SIGINT");
      await ended;
    }
  }));

// deno-lint-ignore no-explicit-any -- the document is what the test examines
async function json(url: string): Promise<any> {
  return await (await fetch(url)).json();
}

/** Waits until a scan has made its database, and has a row in it. */
async function untilExists(file: string): Promise<void> {
  for (;;) {
    try {
      await using database = openSqlite(file);
      const rows = await database.rows("select 1 from scans where heartbeat_at is not null");
      if (rows.length > 0) return;
    } catch {
      // the file or its tables are not complete yet
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
