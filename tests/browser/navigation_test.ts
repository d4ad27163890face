/** Filters, sort orders and pages of the list of servers, and the map, by mouse and by keyboard. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { type Point, pointAt } from "../../src/web/browser/hilbert.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { LOOKS, Visit, withBrowser } from "./browser.ts";
import { succeed, withDashboard, withFleet } from "./served.ts";

const RANGE = "127.85.0.0/22";
/** More than ten pages of 50 servers. */
const FLEET = { servers: 620, hostile: 0, range: { start: 0x7f550000, end: 0x7f550400 }, seed: 5 };

/** The addresses in the list of servers, from its first row. */
function addresses(page: Page): Promise<string[]> {
  return page.locator("table.servers .address code").allInnerTexts();
}

/** The number of matched servers beside the heading. */
async function matched(page: Page): Promise<number> {
  return Number((await page.locator(".page-head .matched b").first().innerText()).replace(",", ""));
}

/** Opens ten further pages of a list, and goes back to the first one. */
async function turnPages(visit: Visit): Promise<void> {
  const { page } = visit;
  const lists = [await addresses(page)];
  for (let i = 0; i < 10; i++) {
    await visit.follow(page.locator("a[rel=next]"));
    lists.push(await addresses(page));
  }
  await visit.check();
  assertEquals(new Set(lists.flat()).size, 11 * 50);
  for (let i = 9; i >= 0; i--) {
    await visit.follow(page.locator("a[rel=prev]"));
    assertEquals(await addresses(page), lists[i]);
  }
  assertEquals(await page.locator("a[rel=prev]").count(), 0);
}

/** Chooses a facet, a sort order and a text, and opens a server. */
async function filter(visit: Visit): Promise<void> {
  const { page } = visit;
  const all = await matched(page);
  await visit.follow(page.locator(".facet a[href='/servers?edition=bedrock']"));
  const bedrock = await matched(page);
  assert(bedrock > 0 && bedrock < all, `${bedrock} of ${all}`);
  await visit.follow(page.locator("[aria-label='Sort order'] a").filter({ hasText: "Name" }));
  assertEquals(await page.locator("th.c-name").getAttribute("aria-sort"), "ascending");
  await page.keyboard.press("/");
  assertEquals(await page.locator(".find input:focus").inputValue(), "edition:bedrock");
  await page.keyboard.type("edition:bedrock a");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/servers?q=*", { waitUntil: "load" });
  const found = await matched(page);
  assert(found > 0 && found < bedrock, `${found} of ${bedrock}`);
  await visit.check();
  assertEquals(new URL(page.url()).searchParams.get("q"), "edition:bedrock a");
  assertEquals(await page.title(), "Servers: “a”, Bedrock edition · blocksweep");
  await visit.follow(page.locator(".chips a").filter({ hasText: "“a”" }));
  assertEquals(await matched(page), bedrock);
  const [first] = await addresses(page);
  await visit.follow(page.locator("table.servers td.c-name a").first());
  assertEquals(await page.locator(".server-head .address code").innerText(), first);
  await visit.check();
}

/** Chooses three servers of a list, compares them, removes one and adds it again by its address. */
async function compare(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.open("/servers");
  assertEquals(await page.locator("form.compare").isVisible(), false);
  for (const i of [0, 2, 4]) await page.locator("input[type=checkbox][name=server]").nth(i).check();
  await visit.follow(page.locator("form.compare button"));
  const all = await addressesIn(page);
  assertEquals(all.length, 3);
  assertEquals(await page.locator("figure .legend bdi").count(), 3);
  await visit.check();
  await visit.follow(page.locator("a[aria-label^=Remove]").first());
  assertEquals(await addressesIn(page), all.slice(1));
  await page.locator("form input[name=server]:not([type=hidden])").fill(all[0]);
  await visit.follow(page.locator("form button[type=submit]"));
  assertEquals((await addressesIn(page)).sort(), all.sort());
}

/** The addresses in the table of compared servers. */
function addressesIn(page: Page): Promise<string[]> {
  return page.locator("table.compared .address code").allInnerTexts();
}

/** Waits until the map is drawn. */
async function untilDrawn(page: Page): Promise<void> {
  await page.locator("[data-map][aria-busy=false]").waitFor();
}

/** Where a network is on the map of its square: 127.85.0.0 on those of 0.0.0.0/0, 127.0.0.0/8. */
function placeIn(prefix: 0 | 8 | 16, address: number): Point {
  const { x, y } = pointAt(Math.floor(address / 2 ** (16 - prefix)), (prefix + 16) / 2);
  return { x: x % 256, y: y % 256 };
}

/** Moves the chosen cell by the arrow keys. */
async function press(page: Page, from: Point, to: Point): Promise<void> {
  for (
    const [distance, forth, back] of [
      [to.x - from.x, "ArrowRight", "ArrowLeft"],
      [to.y - from.y, "ArrowDown", "ArrowUp"],
    ] as const
  ) {
    const key = distance > 0 ? forth : back;
    const size = Math.abs(distance);
    for (let i = 0; i < Math.floor(size / 16); i++) await page.keyboard.press(`Shift+${key}`);
    for (let i = 0; i < size % 16; i++) await page.keyboard.press(key);
  }
}

const ADDRESS = 0x7f550000;

/** Goes by keyboard from all of IPv4 to the servers of 127.85.0.0/24. */
async function mapByKeyboard(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.open("/map");
  await untilDrawn(page);
  assertEquals(await page.locator(".trail [aria-current]").innerText(), "127.85.0.0/22");
  await visit.open("/map?prefix=0.0.0.0/0");
  await untilDrawn(page);
  await page.locator("canvas").focus();
  await press(page, placeIn(0, 0), placeIn(0, ADDRESS));
  assertEquals(await page.locator("[data-cell]").innerText(), "127.85.0.0/16: 620 servers");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/map?*prefix=127.0.0.0/8*", { waitUntil: "load" });
  await untilDrawn(page);
  await press(page, placeIn(8, 0x7f000000), placeIn(8, ADDRESS));
  const text = await page.locator("[data-cell]").innerText();
  assert(/^127\.85\.0\.0\/24: \d+ servers$/.test(text), text);
  await visit.check();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/servers?*", { waitUntil: "load" });
  assertEquals(new URL(page.url()).searchParams.get("network"), "127.85.0.0/24");
  assertEquals(`127.85.0.0/24: ${await matched(page)} servers`, text);
}

/** The middle of a cell on the screen. */
async function middle(page: Page, { x, y }: Point): Promise<Point> {
  const box = (await page.locator("canvas").boundingBox())!;
  return { x: box.x + (x + 0.5) / 256 * box.width, y: box.y + (y + 0.5) / 256 * box.height };
}

/** Enlarges the map by the wheel at an address. The page ignores the rest of a turn of the wheel. */
async function wheel(page: Page, prefix: 0 | 8, address: number): Promise<void> {
  await untilDrawn(page);
  const { x, y } = await middle(page, placeIn(prefix, address));
  await page.mouse.move(x, y);
  await page.waitForFunction(() => performance.now() > 1000);
  await page.keyboard.down("Control"); // without it, the wheel scrolls the page
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
}

/** Goes by wheel from all of IPv4 to a network /16, and by click to the servers of an address. */
async function mapByWheel(visit: Visit): Promise<void> {
  const { page } = visit;
  const [address] = await addresses(page);
  const [host] = address.split(":");
  const number = host.split(".").reduce((value, part) => value * 256 + Number(part), 0);
  await visit.open("/map?prefix=0.0.0.0/0");
  await wheel(page, 0, number);
  await page.waitForURL("**/map?*prefix=127.0.0.0/8*", { waitUntil: "load" });
  await wheel(page, 8, number);
  await page.waitForURL("**/map?*prefix=127.85.0.0/16*", { waitUntil: "load" });
  await untilDrawn(page);
  const { x, y } = await middle(page, placeIn(16, number));
  await page.mouse.move(x, y);
  assertEquals(await page.locator("[data-tip]").innerText(), `${host}: 1 server`);
  await visit.check();
  await page.mouse.click(x, y);
  await page.waitForURL("**/servers?*", { waitUntil: "load" });
  assertEquals(await addresses(page), [address]);
}

Deno.test("the list turns pages and filters, and the map leads to the servers of a network", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    await withFleet(
      FLEET,
      () => succeed("scan", RANGE, "-o", database, "--seed", "1", "--cooldown", "200ms", "-q"),
    );
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        await using visit = await Visit.start(browser, origin, LOOKS[0]);
        await visit.open("/servers");
        await turnPages(visit);
        await filter(visit);
        await compare(visit);
        await visit.open("/servers");
        await mapByKeyboard(visit);
        await mapByWheel(visit);
      }));
  }));
