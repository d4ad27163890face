/** Servers whose every text tries to run a script: a scan finds them while a browser watches it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Browser } from "playwright-core";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { finish, start } from "../cli/program.ts";
import { hostileFleet, PORT } from "../store/hostile_fleet.ts";
import { LOOKS, Visit, withBrowser } from "./browser.ts";
import { SCAN_PERMISSIONS, succeed, withDashboard, withPublicList } from "./served.ts";

const RANGE = "127.86.0.0/23";
const HOSTS = Array.from({ length: 12 }, (_, i) => `127.86.${i % 2}.${20 * (i + 1)}`);
const TEXTS = [
  "<script>globalThis.ran = 1</script>",
  '"><img src=x onerror="globalThis.ran = 1">',
  "' onfocus='globalThis.ran = 1' autofocus='",
  "</title></script><svg onload=globalThis.ran=1>",
  "javascript:globalThis.ran=1//",
  "\u202Eright to left\u2066 \u200F",
  "a\u0000b\u001B[31m\u0007",
  "\uD800 half of a pair",
  "__proto__",
  "x".repeat(65_536),
  "§4§k界".repeat(8_000),
  "${1}{{1}}%s%00&lt;&#0;",
];
const ICON = "data:image/svg+xml;base64," + btoa("<svg onload='globalThis.ran=1'/>");

/** A status with a text in each of its members, also as a key. Other rounds have other texts. */
function statusOf(i: number, round: number): string {
  const text = JSON.stringify(TEXTS[(i + round) % TEXTS.length]);
  const key = text.slice(0, 200).replace(/\\*"?$/, "") + '"';
  return `{"version": {"name": ${text}, "protocol": ${i}}, ${key}: {${key}: [${text}]},
    "players": {"online": ${i}, "max": 9, "sample": [{"name": ${text}, "id": ${text}}]},
    "description": {"text": ${text}, "extra": [${text}, {"text": ${text}, "color": ${text}}]},
    "modinfo": {"type": "FML", "modList": [{"modid": ${text}, "version": ${text}}]},
    "favicon": ${JSON.stringify(i % 2 === 0 ? ICON : TEXTS[i])}}`;
}

/** Watches the page of a scan until the scan ends. */
async function watchScan(visit: Visit, origin: string, scanId: string): Promise<void> {
  const { page } = visit;
  await visit.open(`/scans/${scanId}`);
  await page.locator("[data-live-charts]").waitFor({ state: "visible" });
  await page.locator("[data-live-finds] li").first().waitFor();
  await visit.check();
  await page.locator("main:not(:has([data-scan]))").waitFor(); // the page reloads at the end
  await visit.check();
  const scan = await (await fetch(`${origin}/api/scans/${scanId}`)).json();
  assertEquals(scan.scan.state, "finished");
  assertEquals(await page.locator("[data-live=found]").innerText(), `${HOSTS.length}`);
  assertEquals(
    await page.locator("table.servers[aria-label=Found] tbody tr").count(),
    HOSTS.length,
  );
}

/** The identity of the scan that runs. */
async function runningScan(origin: string): Promise<string> {
  for (;;) {
    const { scans } = await (await fetch(`${origin}/api/scans`)).json();
    const running = scans.find(({ state }: { state: string }) => state === "running");
    if (running !== undefined) return running.scan_id;
  }
}

/** Fails if a text of a server ran, or became an element or attribute. */
async function assertHarmless(visit: Visit, path: string): Promise<void> {
  const { ran, images } = await visit.page.evaluate(() => ({
    ran: (globalThis as { ran?: number }).ran,
    images: document.querySelectorAll("img[src=x], svg[onload], [onfocus]").length,
  }));
  assertEquals([ran, images], [undefined, 0], path);
}

/** Opens every page, and checks that no text of a server ran or became an element. */
async function openAll(visit: Visit, origin: string): Promise<void> {
  const { servers } = await (await fetch(`${origin}/api/servers?limit=500`)).json();
  assertEquals(servers.length, HOSTS.length);
  const paths = [
    ...["/", "/servers", "/map", "/breakdown", "/breakdown?by=software", "/scans", "/events"],
    ...servers.map(({ id }: { id: number }) => `/servers/${id}`),
    ...TEXTS.filter((text) => text.length <= 100 && text.isWellFormed() && !text.includes("\0"))
      .map((text) => `/servers?text=${encodeURIComponent(text)}&sort=name`),
  ];
  const faults: string[] = [];
  for (const path of paths) {
    faults.push(...await visit.faultsAt(path));
    await assertHarmless(visit, path);
  }
  assertEquals(faults, []);
  await visit.open("/servers");
  const isCovered = await visit.page.locator("td.c-players").evaluateAll((cells) =>
    cells.some((cell) => cell.scrollWidth > cell.clientWidth)
  );
  assertEquals(isCovered, false, "a long version covers the number of players");
}

/** Opens the pages of the public list, and checks that no text of a server ran or became an element. */
async function openPublic(browser: Browser, origin: string): Promise<void> {
  const list = await (await fetch(`${origin}/`)).text();
  const servers = [...new Set(list.match(/\/s\/[^"?]+/g))];
  assertEquals(servers.length, HOSTS.length);
  const searches = TEXTS.filter((text) => text.length <= 100 && text.isWellFormed())
    .map((text) => `/?q=${encodeURIComponent(text)}`);
  const faults: string[] = [];
  await using visit = await Visit.start(browser, origin, LOOKS[2]);
  for (const path of ["/", "/?edition=java", ...servers, ...searches, "/stats", "/about"]) {
    faults.push(...await visit.faultsAt(path));
    await assertHarmless(visit, path);
  }
  assertEquals(faults, []);
}

/** Writes a report of the database, opens it as a file, and filters its table. */
async function openReport(browser: Browser, database: string, file: string): Promise<void> {
  await succeed("report", database, "-o", file, "-q");
  for (const look of LOOKS) {
    await using visit = await Visit.start(browser, `file://${file}`, look);
    await visit.open(`file://${file}`);
    const rows = visit.page.locator("table.servers tbody tr");
    await rows.first().waitFor();
    assertEquals(await rows.count(), HOSTS.length);
    assertStringIncludes((await rows.allInnerTexts()).join("\n"), TEXTS[0]);
    await assertHarmless(visit, file);
    await visit.page.locator("[data-text]").fill("__proto__");
    await rows.nth(1).waitFor({ state: "detached" });
    assertStringIncludes(await rows.innerText(), "__proto__");
    await visit.check();
  }
}

Deno.test("a scan of hostile servers is watched to its end, and no page runs their texts", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    const options = ["-p", `${PORT}`, "--protocol", "slp", "-o", database, "-q"];
    let round = 0;
    await using _fleet = hostileFleet(HOSTS, (i) => statusOf(i, round));
    await succeed("scan", ...HOSTS, ...options, "--cooldown", "0s");
    round = 1;
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        await using overview = await Visit.start(browser, origin, LOOKS[0]);
        await overview.open("/");
        const card = overview.page.getByRole("heading", { name: "Running now" });
        assertEquals(await card.count(), 0);
        const scan = start(["scan", RANGE, ...options, "--rate", "25"], {
          permissions: SCAN_PERMISSIONS,
        });
        const ended = finish(scan);
        await using visit = await Visit.start(browser, origin, LOOKS[2]);
        const watched = watchScan(visit, origin, await runningScan(origin));
        await card.waitFor(); // the page follows scans that begin and end
        await overview.check();
        await watched;
        const { code, stderr } = await ended;
        assertEquals(code, 0, stderr);
        await card.waitFor({ state: "detached" });
        await openAll(visit, origin);
        await openReport(browser, database, `${folder}/report.html`);
      }));
    await withPublicList(
      database,
      (origin) => withBrowser((browser) => openPublic(browser, origin)),
    );
  }));
