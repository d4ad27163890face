/** Every page of a database that a scan of the simulated fleet wrote, and imported rows, in a browser. */
import { assert, assertEquals } from "@std/assert";
import { LOOKS, Visit, withBrowser } from "./browser.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { succeed, withDashboard, withFleet, withPublicList } from "./served.ts";

const RANGE = "127.84.0.0/22";
/** 40 servers in four networks /24. */
const FLEET = { servers: 40, hostile: 0, range: { start: 0x7f540000, end: 0x7f540400 }, seed: 7 };

/** A network of the fleet. A second scan, after the fleet has ended, misses its servers. */
const OFFLINE = "127.84.3.0/24";

/** The pages, except the one of the scan. */
const PATHS = [
  ...["/", "/?days=1", "/servers", "/servers?edition=bedrock&sort=name", "/servers?text=nothing"],
  ...["/servers?online=false", "/servers?sort=new"],
  ...[
    "/servers/1",
    "/compare",
    "/compare?server=1&server=2",
    "/map",
    "/map?prefix=127.0.0.0/8",
    "/map?prefix=127.84.0.0/16&layer=age",
  ],
  ...["/map?layer=scanned", "/map?layer=online&software=paper", "/breakdown", "/breakdown?by=port"],
  ...["/scans", "/events", "/events?kind=offline"],
];

/** Tooltips of local times, and addresses that are copied, in a time zone nine hours from UTC. */
async function checkLocal(visit: Visit, scan: string): Promise<void> {
  const { page } = visit;
  await visit.open(scan);
  const time = page.locator("dl.facts time").first();
  const utc = (await time.getAttribute("datetime"))!;
  const text = `${utc.slice(0, 19).replace("T", " ")} UTC`;
  assertEquals(await time.innerText(), text);
  const local = new Date(Date.parse(utc) + 9 * 3_600_000).toISOString();
  const title = (await time.getAttribute("title"))!;
  assert(title.startsWith(`${text}, ${local.slice(0, 19).replace("T", " ")}`), title);
  assert(/(GMT\+9|JST)$/.test(title), title);
  await visit.open("/servers/1");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const address = page.locator(".server-head .address code");
  await address.click();
  await page.locator(".copy.copied").waitFor();
  assertEquals(
    await page.evaluate(() => navigator.clipboard.readText()),
    await address.innerText(),
  );
}

/** On paper, no text is cut at the right, and the first page has more than the heading. */
async function checkPrint(visit: Visit, path: string): Promise<void> {
  const { page } = visit;
  await visit.open(path);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 703, height: 1032 }); // A4 without margins
  await page.waitForFunction(() =>
    // charts are drawn again for the width of the paper
    [...document.querySelectorAll(".uplot, .u-axis")].every((chart) =>
      chart.getBoundingClientRect().right <= document.documentElement.clientWidth + 1
    )
  );
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll("main *")].filter((element) => {
      const { right, width } = element.getBoundingClientRect();
      return width > 1 && right > document.documentElement.clientWidth + 1;
    }).map((element) => `${element.tagName}.${element.className}`)
  );
  assertEquals([...new Set(cut)], [], path);
  const broken = await page.locator(".servers .c-address code").evaluateAll((addresses) =>
    addresses.filter((address) => address.getBoundingClientRect().height > 20).length
  );
  assertEquals(broken, 0, `${path}: addresses on two lines`);
  const names = await page.locator(".server h2").evaluateAll((names) =>
    names.map((name) => name.getBoundingClientRect().width)
  );
  assert(names.every((width) => width > 300), `${path}: names are ${names} pixels wide`);
  const whole = await page.evaluate(() =>
    [...document.querySelectorAll(".card")].filter((card) =>
      getComputedStyle(card).breakInside === "avoid"
    ).length
  );
  assertEquals(whole, 0, path);
}

Deno.test("every page is without faults, wide and narrow, light and dark, also without scripts", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    await withFleet(
      FLEET,
      () => succeed("scan", RANGE, "-o", database, "--seed", "1", "--cooldown", "200ms", "-q"),
    );
    await succeed("scan", OFFLINE, "-o", database, "--down-after", "1", "--retries", "0", "-q");
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        const { scans } = await (await fetch(`${origin}/api/scans`)).json();
        const offline = await (await fetch(`${origin}/api/servers?online=false`)).json();
        assert(offline.servers.length > 0, "no server is offline");
        const paths = [...PATHS, `/scans/${scans[0].scan_id}`];
        const faults: string[] = [];
        for (const look of LOOKS) {
          await using visit = await Visit.start(browser, origin, look);
          for (const path of paths) faults.push(...await visit.faultsAt(path));
        }
        assertEquals(faults, []);
        {
          const look = { ...LOOKS[0], timezoneId: "Asia/Tokyo" };
          await using visit = await Visit.start(browser, origin, look);
          await checkLocal(visit, paths.at(-1)!);
        }
        for (
          const path of ["/", "/servers", "/servers/1", "/events", "/compare?server=1&server=2"]
        ) {
          await using visit = await Visit.start(browser, origin, LOOKS[0]);
          await checkPrint(visit, path);
        }
        const look = { ...LOOKS[3], withoutScripts: true };
        await using visit = await Visit.start(browser, origin, look);
        for (const path of paths) {
          await visit.open(path);
          assert(await visit.page.locator("main h1").innerText() !== "", path);
        }
      }));
  }));

/** The pages of the public list, with that of its first server. */
async function visitorPaths(origin: string): Promise<string[]> {
  const list = await (await fetch(`${origin}/`)).text();
  const [server] = /\/s\/[^"?]+/.exec(list)!;
  return ["/", "/?edition=java", "/?q=nothing", server, "/stats", "/about"];
}

Deno.test("every page of the public list is without faults, also without scripts and on paper", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    await withFleet(
      FLEET,
      () => succeed("scan", RANGE, "-o", database, "--seed", "1", "--cooldown", "200ms", "-q"),
    );
    await withPublicList(database, (origin) =>
      withBrowser(async (browser) => {
        const paths = await visitorPaths(origin);
        const faults: string[] = [];
        for (const look of LOOKS) {
          await using visit = await Visit.start(browser, origin, look);
          for (const path of paths) faults.push(...await visit.faultsAt(path));
        }
        assertEquals(faults, []);
        {
          const look = { ...LOOKS[3], withoutScripts: true };
          await using visit = await Visit.start(browser, origin, look);
          for (const path of paths) {
            await visit.open(path);
            assert(await visit.page.locator("main h1").innerText() !== "", path);
          }
        }
        await using visit = await Visit.start(browser, origin, LOOKS[0]);
        for (const path of paths) await checkPrint(visit, path);
      }));
  }));

/** A row with the highest number of players, as another program may write it. */
function importedRow(port: number, name: string, version: string): string {
  const most = 2 ** 31 - 1;
  return JSON.stringify({
    ...{ host: "127.84.8.1", port, protocol: "slp", name, motd: name, version },
    ...{ players_online: most, players_max: most, seen_at: Date.now() },
  });
}

Deno.test("blank names are links with a text, and long versions do not cover numbers of players", () =>
  inFolder(async (folder) => {
    const [database, rows] = [`${folder}/servers.db`, `${folder}/rows.ndjson`];
    const long = "1.21.50 " + "e\u0301\u0308a\u030a".repeat(40);
    const lines = [importedRow(1, "\u115f \u3164", "1.21.4"), importedRow(2, "Lobby", long)];
    await Deno.writeTextFile(rows, lines.join("\n"));
    await succeed("import", database, rows, "-q");
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        await using visit = await Visit.start(browser, origin, LOOKS[3]);
        await visit.page.setViewportSize({ width: 320, height: 1200 });
        for (const path of ["/servers/1", "/compare?server=127.84.8.1:1", "/servers"]) {
          await visit.open(path);
          assert((await visit.page.locator("main").innerText()).includes("127.84.8.1:1"), path);
        }
        // The text spacing of WCAG 2.2, 1.4.12, which a reader may set.
        await visit.page.evaluate(() => document.body.style.letterSpacing = "0.12em");
        const areCovered = await visit.page.locator("table.servers tbody tr").evaluateAll((rows) =>
          rows.map((row) => {
            const version = row.querySelector(".c-version")!.getBoundingClientRect();
            const texts = document.createRange();
            texts.selectNodeContents(row.querySelector(".c-players")!);
            return [...texts.getClientRects()].some(({ right, bottom }) =>
              right > version.left && bottom > version.top
            );
          })
        );
        assertEquals(areCovered, [false, false]);
      }));
  }));
