/** Every page of a database that a scan of the simulated fleet wrote, in a browser. */
import { assert, assertEquals } from "@std/assert";
import { LOOKS, Visit, withBrowser } from "./browser.ts";
import { inFolder } from "../app/resume/stopped_programs.ts";
import { succeed, withDashboard, withFleet } from "./served.ts";

const RANGE = "127.84.0.0/22";
/** 40 servers in four networks /24. */
const FLEET = { servers: 40, hostile: 0, range: { start: 0x7f540000, end: 0x7f540400 }, seed: 7 };

/** The pages, except the one of the scan. */
const PATHS = [
  ...["/", "/?days=1", "/servers", "/servers?edition=bedrock&sort=name", "/servers?text=nothing"],
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

/** Local times, fields of times, and addresses that are copied, in a time zone nine hours from UTC. */
async function checkLocal(visit: Visit, scan: string): Promise<void> {
  const { page } = visit;
  await visit.open(scan);
  const time = page.locator("dl.facts time").first();
  const utc = (await time.getAttribute("datetime"))!;
  assertEquals(await time.getAttribute("title"), `${utc.slice(0, 19).replace("T", " ")} UTC`);
  const local = new Date(Date.parse(utc) + 9 * 3_600_000).toISOString();
  assertEquals(await time.innerText(), local.slice(0, 19).replace("T", " "));
  await visit.open("/events?from=2026-01-01T00:00");
  const field = page.locator("input[name=from]");
  assertEquals(await field.inputValue(), "2026-01-01T09:00");
  await field.fill("2025-06-30T08:30");
  await visit.follow(page.locator(".search button"));
  assertEquals(new URL(page.url()).searchParams.get("from"), "2025-06-29T23:30");
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

Deno.test("every page is without faults, wide and narrow, light and dark, also without scripts", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    await withFleet(
      FLEET,
      () => succeed("scan", RANGE, "-o", database, "--seed", "1", "--cooldown", "200ms", "-q"),
    );
    await withDashboard(database, (origin) =>
      withBrowser(async (browser) => {
        const { scans } = await (await fetch(`${origin}/api/scans`)).json();
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
        const look = { ...LOOKS[3], withoutScripts: true };
        await using visit = await Visit.start(browser, origin, look);
        for (const path of paths) {
          await visit.open(path);
          assert(await visit.page.locator("main h1").innerText() !== "", path);
        }
      }));
  }));
