/** Covers src/app/crawl/discovery_rounds.ts and src/app/crawl/run_crawl.ts. */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { DiscoveryRounds, type RoundPass } from "../../../src/app/crawl/discovery_rounds.ts";
import { NewServers } from "../../../src/app/crawl/run_crawl.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { RecentYield } from "../../../src/discovery/freshness.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";

type Before = (pass: RoundPass) => Promise<number>;

/** Rounds whose passes find what `run` says. */
function rounds(run: (before: Before, round: number) => Promise<void>) {
  const clock = new ManualClock();
  const [recentYield, controller] = [new RecentYield(), new AbortController()];
  const reports: string[] = [];
  let [started, ended] = [0, 0];
  const discovery = new DiscoveryRounds({
    ...{ clock, recentYield, minProbes: 1000, signal: controller.signal },
    run: (before) => run(before, ++started),
    onPass: () => {
      ended++;
      return Promise.resolve();
    },
    report: (line) => reports.push(line),
  });
  return { discovery, clock, recentYield, reports, controller, counts: () => [started, ended] };
}

Deno.test("passes use the probes that they are given, and their finds are the yield, but for known servers", async () => {
  const most: number[] = [];
  const { discovery, recentYield, counts, controller } = rounds(async (before) => {
    most.push(await before({ known: 200, probes: 300, spent: 0, found: 0, hasReplies: true }));
    most.push(await before({ known: 200, probes: 500, spent: 250, found: 200, hasReplies: true }));
    most.push(await before({ known: 200, probes: 5000, spent: 700, found: 209, hasReplies: true }));
    await before({ known: 200, probes: 5000, spent: 3700, found: 212, hasReplies: true });
  });
  assertEquals(await discovery.discover(299), 0, "too few for the pass");
  assertEquals(await discovery.discover(300), 250);
  assertEquals(recentYield.batches, []);
  assertEquals(await discovery.discover(600), 450);
  assertEquals(await discovery.discover(999), 0, "less than the minimum");
  assertEquals(await discovery.discover(3000), 3000);
  assertEquals([most, counts()], [[300, 600, 3000], [1, 3]]);
  assertEquals(recentYield.batches, [{ probes: 450, found: 9 }, { probes: 3000, found: 3 }]);
  assertAlmostEquals(recentYield.perProbe, 12.01 / 4450);
  assertEquals(discovery.counts, { probes: 3700, found: 212 });
  controller.abort();
  await discovery.end();
});

Deno.test("passes do not count while no known server of the round has replied", async () => {
  const { discovery, recentYield, controller } = rounds(async (before) => {
    await before({ known: 200, probes: 500, spent: 300, found: 0, hasReplies: false });
    await before({ known: 200, probes: 500, spent: 800, found: 0, hasReplies: false });
    await before({ known: 200, probes: 500, spent: 1300, found: 1, hasReplies: true });
  });
  assertEquals([await discovery.discover(500), recentYield.batches], [500, []]);
  assertEquals(await discovery.discover(500), 500);
  assertEquals(recentYield.batches, [{ probes: 500, found: 1 }]);
  controller.abort();
  await discovery.end();
});

Deno.test("a round that ended is followed by another one, an hour after its start", async () => {
  const { discovery, clock, counts } = rounds(async (before) => {
    await before({ known: 200, probes: 10, spent: 0, found: 0, hasReplies: true });
    await before({ known: 200, probes: 10, spent: 10, found: 0, hasReplies: true });
  });
  assertEquals(await discovery.discover(100), 10);
  assertEquals(await discovery.discover(100), 0, "the round ends without a pass");
  await discovery.end();
  assertEquals([await discovery.discover(100), counts()[0]], [0, 1]);
  clock.move(3_600_000);
  assertEquals([await discovery.discover(100), counts()[0]], [10, 2]);
});

Deno.test("a round that fails is reported, and uses nothing", async () => {
  const { discovery, reports } = rounds(() => Promise.reject(new Error("no socket")));
  assertEquals([await discovery.discover(100), reports], [0, ["discovery failed: no socket"]]);
});

Deno.test("the signal ends the wait of a pass", async () => {
  const { discovery, controller } = rounds(async (before) => {
    await before({ known: 200, probes: 500, spent: 0, found: 0, hasReplies: true });
  });
  assertEquals(await discovery.discover(10), 0);
  controller.abort();
  await discovery.end();
});

Deno.test("new servers are counted once, and neither known ones nor further ports of one server", () => {
  const endpoint = { address: 0x0a000001, port: 1 };
  const rules = {
    ...{ intervalMs: 600_000, downAfter: 3, scanId: "crawl", newEventId: () => "event" },
    allProtocols: PROTOCOLS,
  };
  const stored = { row: emptyRecord(endpoint, 0), probedAt: 1000 };
  const known = [
    new WatchedServer(endpoint, null, rules, { ...stored, online: true }),
    new WatchedServer(endpoint, null, rules, { ...stored, online: false }),
    new WatchedServer(endpoint, "play.example.org", rules, { ...stored, online: true }),
  ];
  const found = new NewServers(known);
  assertEquals(found.hasReplies, false);
  const row = (port: number, alias_of: string | null = null) => ({
    ...emptyRecord({ address: 0x0a000001, port }, 5000),
    alias_of,
  });
  found.read([row(1), row(2), row(2), row(3, "10.0.0.1:2")]);
  found.read([row(2), row(4)]);
  assertEquals([found.count, found.hasReplies], [2, true]);
  // A poll has to tell of a server that came back, and the scan did not send the name.
  assertEquals(known.map(({ probedAt }) => probedAt), [5000, 1000, 1000]);
});
