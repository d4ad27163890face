/** Covers src/app/crawl/ and src/cli/commands/watch/crawl.ts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readCrawlFile, writeCrawlFile } from "../../../src/app/crawl/crawl_file.ts";
import { crawlStartLine, freshnessLine } from "../../../src/cli/term/watch_summary.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { systemDisk } from "../../../src/sinks/file_operations.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { freePort } from "../../fakes/free_port.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { all } from "../../store/databases.ts";
import { run, start, until } from "../program.ts";
import { longTest } from "../../long.ts";

const RANGE = "127.78.0.0/26";
const FLEET = { servers: 12, hostile: 0, range: { start: 0x7f4e0000, end: 0x7f4e0040 }, seed: 8 };
const SCAN = ["--protocol", "raknet", "--cooldown", "200ms", "-q"];
const DAY_MS = 86_400_000;

async function rowsOf(path: string, sql: string) {
  await using database = openSqlite(path);
  return await all(database, sql);
}

/** Runs work with a database of the servers of a fleet that runs. */
async function withList(
  work: (list: string) => Promise<void>,
  range = RANGE,
): Promise<void> {
  await inFolder(async (folder) => {
    await using _fleet = await openFleet(drawFleet({ ...FLEET, software: ["bds"] }), {
      clock: systemClock,
      seed: 1,
    });
    const list = `${folder}/a.db`;
    const { code, stderr } = await run(["scan", range, ...SCAN, "-o", list]);
    assertEquals([code, stderr], [0, ""]);
    await work(list);
  });
}

Deno.test("a crawl polls the servers that are due, serves its freshness, and writes no spans", () =>
  withList(async (list) => {
    await rowsOf(list, "update servers set first_seen = first_seen - 864000000");
    await rowsOf(list, "delete from events");
    await rowsOf(
      list,
      `update server_state set probed_at = probed_at - ${2 * DAY_MS} where server > 3`,
    );
    const polled = `select server from server_state where probed_at > ${Date.now() - DAY_MS}`;
    assertEquals((await rowsOf(list, polled)).length, 3);
    const before = await rowsOf(list, "select probed_at from server_state where server <= 3");
    const port = freePort();
    const args = ["crawl", list, RANGE, "--budget", "500k/day", "--metrics", `${port}`];
    args.push("--contact", "abuse@example.org"); // kept for the second crawl
    const first = start(args);
    await until(first, async () => (await rowsOf(list, polled)).length === 12);
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const [, believed] = /^blocksweep_servers_believed_ratio (\S+)$/m.exec(page) ?? [];
    assert(Number(believed) > 0.99 && Number(believed) <= 1, page);
    assertStringIncludes(page, 'blocksweep_probe_age_seconds{quantile="0.95"}');
    assertStringIncludes(page, "blocksweep_crawl_discovery_probes_total 0\n");
    assertStringIncludes(page, "blocksweep_crawl_discovered_total 0\n");
    first.kill("SIGKILL");
    await first.output();
    assertEquals(
      await rowsOf(list, "select probed_at from server_state where server <= 3"),
      before,
    );

    // A crawl that is started again polls only what is due now.
    await rowsOf(list, `update server_state set probed_at = 0 where server = 7`);
    const others = "select server, probed_at from server_state where server <> 7";
    const known = await rowsOf(list, others);
    const second = start(["crawl", list, RANGE, "--budget", "500k/day"]);
    await until(second, async () => (await rowsOf(list, polled)).length === 12);
    await Deno.mkdir(`${list}.crawl`);
    second.kill("SIGINT");
    const { code, stderr } = await second.output();
    assertEquals([code, await rowsOf(list, others)], [130, known]);
    const lines = new TextDecoder().decode(stderr).split("\n");
    assertEquals(lines[0], crawlStartLine(12, 500_000, true));
    const unsaved = lines.filter((line) => line.startsWith("blocksweep: cannot write "));
    assertEquals(unsaved.length, 1, lines.join("\n"));
    assertStringIncludes(unsaved[0], `"${list}.crawl"`);
    assertStringIncludes(unsaved[0], "; the yield of discovery is not saved");
    assertStringIncludes(lines[1], " % of 12 servers probably unchanged since the last probe: ");
    assertEquals(await rowsOf(list, "select * from watch_spans"), []);
    const scans = await rowsOf(list, "select kind, config from scans where kind = 'watch'");
    assertEquals(scans.length, 2);
    assertEquals(JSON.parse(String(scans[1].config)), {
      targets: [list, RANGE],
      budget: "500k/day",
      contact: "abuse@example.org",
    });
  }));

longTest(
  "a crawl finds servers with what polls leave of its budget, and begins anew after a kill",
  () =>
    withList(async (list) => {
      const count = async () =>
        Number((await rowsOf(list, "select count(*) as n from servers"))[0].n);
      const known = await count();
      assert(known > 0 && known < 12, `${known} servers are known`);
      const args = [
        "crawl",
        list,
        RANGE,
        "--budget",
        "500M/day",
        "--rate",
        "5k",
        "-p",
        "19132",
        "--json",
      ];
      const first = start(args);
      await until(first, async () => await count() === 12);
      first.kill("SIGKILL");
      await first.output();
      await Deno.writeTextFile(`${list}.crawl`, '{"crawl":1,"discovery":[[5000,7]]}\n');
      const found = "select found from scans where kind = 'sweep' and found > 0";
      const rounds = (await rowsOf(list, found)).length;
      const second = start(args);
      await until(second, async () => (await rowsOf(list, found)).length > rounds);
      second.kill("SIGINT");
      assertEquals((await second.output()).code, 130);
      const batches = await readCrawlFile(systemDisk, `${list}.crawl`);
      assertEquals(batches[0], { probes: 5000, found: 7 });
      assertEquals(await rowsOf(list, "select * from watch_spans"), []);
    }, "127.78.0.0/28"),
);

longTest(
  "a crawl prints and sends each server that it finds once, as new, and none as online",
  () =>
    withList(async (list) => {
      const known = (await rowsOf(list, "select address from servers")).map(({ address }) =>
        address
      );
      const sent: Record<string, unknown>[] = [];
      await using receiver = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen: () => {} },
        async (one) => {
          sent.push(...await one.json());
          return new Response("");
        },
      );
      const url = `http://127.0.0.1:${receiver.addr.port}/`;
      const budget = ["--budget", "500M/day", "--rate", "5k", "-p", "19132"];
      const crawl = start(["crawl", list, RANGE, ...budget, "--json", "--webhook", url]);
      await until(crawl, () => sent.length >= 12 - known.length);
      crawl.kill("SIGINT");
      const { code, stdout, stderr } = await crawl.output();
      assertEquals(code, 130, new TextDecoder().decode(stderr));
      const text = new TextDecoder().decode(stdout).trim();
      const printed = text.split("\n").map((line) => JSON.parse(line));
      const kinds = new Set(printed.map(({ event }) => event));
      assertEquals([...kinds], ["new"]);
      const hosts = new Set(printed.map(({ host }) => host));
      assertEquals([printed.length, hosts.size], [12 - known.length, 12 - known.length]);
      assertEquals(known.filter((host) => hosts.has(host)), []);
      assertEquals(printed.map(({ server }) => server.players), printed.map(() => null));
      const ids = (events: readonly Record<string, unknown>[]) => events.map(({ id }) => id);
      assertEquals(ids(sent), ids(printed));
    }, "127.78.0.0/28"),
);

longTest(
  "discovery counts no missed scans of known servers: the own network may be down",
  () =>
    inFolder(async (folder) => {
      const list = `${folder}/a.db`;
      {
        await using _fleet = await openFleet(drawFleet({ ...FLEET, software: ["bds"] }), {
          clock: systemClock,
          seed: 1,
        });
        assertEquals((await run(["scan", RANGE, ...SCAN, "-o", list])).code, 0);
      }
      const args = ["crawl", list, RANGE, "--budget", "500M/day", "--rate", "5k", "-p", "19132"];
      const crawl = start(args);
      const done = "select id from scans where kind = 'sweep' and state = 'finished'";
      await until(crawl, async () => (await rowsOf(list, done)).length === 2);
      crawl.kill("SIGINT");
      const { stderr } = await crawl.output();
      assertStringIncludes(
        new TextDecoder().decode(stderr),
        "blocksweep: a rate of 5,000/s allows at most 432,000,000 of the 500,000,000 probes a day\n",
      );
      assertMatch(
        new TextDecoder().decode(stderr),
        /\n12 of 12 .*; [1-9]\d+ discovery probes, 0 found\n$/,
      );
      const missed = "select server from server_state where online = 0 or missed_scans > 0";
      assertEquals(await rowsOf(list, missed), []);
    }),
);

Deno.test("discovery sweeps no private /24 that is not named, though a row of the database lies there", () =>
  withList(async (list) => {
    const crawl = start(["crawl", list, "--budget", "500M/day"]);
    const watches = "select id from scans where kind = 'watch'";
    await until(crawl, async () => (await rowsOf(list, watches)).length > 0);
    crawl.kill("SIGINT");
    const lines = new TextDecoder().decode((await crawl.output()).stderr).split("\n");
    assertEquals(lines.slice(0, 2), [
      "blocksweep: discovery leaves out 1 private /24 of the database: name targets to sweep them, " +
      "for example 127.78.0.0/24",
      crawlStartLine(12, 500_000_000, false),
    ]);
    assertStringIncludes(lines.at(-2)!, "0 discovery probes");
  }));

Deno.test("a crawl refuses words, budgets, databases and checkpoints in one line that says what is wanted", () =>
  withList(async (list) => {
    const refused = async (...args: string[]) => {
      const { code, stderr, stdout } = await run(["crawl", ...args]);
      assertEquals([code, stdout, stderr.trimEnd().split("\n").length], [2, "", 1], stderr);
      return stderr.trimEnd().replace("blocksweep: ", "");
    };
    assertEquals(
      await refused(list),
      "Cannot crawl without --budget: name probes per day, for example 50M/day",
    );
    for (const text of ["50M", "0/day", "12h", "50%", "1e9/day", "999/day"]) {
      assertEquals(
        await refused(list, "--budget", text),
        `Cannot use --budget "${text}": expected probes per day from 1000/day on, such as 500k/day or 50M/day`,
      );
    }
    const budget = ["--budget", "50M/day"];
    assertStringIncludes(await refused("rows.csv", ...budget), "name a database first");
    assertStringIncludes(await refused("no.db", ...budget), "there is no such file");
    assertStringIncludes(
      await refused(list, "8.8.8.0/24", ...budget),
      "Cannot scan 256 public addresses without --i-have-permission: ",
    );
    const few = await refused(list, "10.0.0.0/8", "--budget", "5k/day");
    assertStringIncludes(few, "up to 150,000 datagrams would be sent"); // in 30 days
    assertStringIncludes(await refused(list, "::1", ...budget), "adaptive scans are for IPv4");
    const folder = list.replace("/a.db", "");
    const [fresh, file] = [`${folder}/new.db`, `${folder}/new.txt`];
    await Deno.writeTextFile(file, "127.78.0.1:19132\n");
    await run(["import", fresh, file]);
    assertEquals(
      await refused(fresh, ...budget),
      `Cannot crawl ${fresh}: no server in it has ever replied; scan into it first, with ` +
        `scan TARGET... -o ${fresh}`,
    );
    await Deno.writeTextFile(`${list}.crawl`, '{"crawl":1,"discovery":[[0,1]]}\n');
    assertStringIncludes(await refused(list, ...budget), "remove it to begin without");
    await Deno.remove(`${list}.crawl`);
    await Deno.mkdir(`${list}.crawl`);
    assertStringIncludes(
      await refused(list, ...budget),
      `Cannot read "${list}.crawl": Is a directory`,
    );
    assertEquals(await rowsOf(list, "select count(*) as n from scans"), [{ n: 1 }]);
  }));

Deno.test("the help names the ports of discovery, and the least budget", async () => {
  const { stdout } = await run(["crawl", "--help"]);
  assertStringIncludes(stdout, "default: the usual ports of the protocols, and 100 on either side");
  assertStringIncludes(stdout, "at least 1000/day");
  const { stdout: scan } = await run(["scan", "--help"]);
  assertStringIncludes(scan, "default: the usual ports; with --adaptive also 100 on either side");
});

Deno.test("the checkpoint of a crawl has the yield of its discovery", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.db.crawl`;
    assertEquals(await readCrawlFile(systemDisk, path), []);
    const batches = [{ probes: 25_000, found: 3 }, { probes: 1, found: 0 }];
    await writeCrawlFile(systemDisk, path, batches);
    assertEquals(await readCrawlFile(systemDisk, path), batches);
    const others = [{ probes: 7, found: 7 }];
    await Promise.all([batches, others].map((one) => writeCrawlFile(systemDisk, path, one)));
    assert([2, 1].includes((await readCrawlFile(systemDisk, path)).length));
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).length, 1, "no other file is left");
  }));

Deno.test("a crawl without IPv4 servers says that it discovers none", () => {
  const line = "crawling 3 servers with at most 5,000 probes a day";
  assertEquals(crawlStartLine(3, 5000, true), line);
  const without = `${line}; no discovery: the database has no public IPv4 servers`;
  assertEquals(crawlStartLine(3, 5000, false), without);
});

Deno.test("the line about freshness has the share of servers that probably did not change, and the ages of the last probes", () => {
  const freshness = {
    servers: 1234,
    believed: 0.9731,
    medianMs: 5_400_000,
    p95Ms: 300 * 3_600_000,
    discovery: { probes: 1234, found: 113 },
  };
  assertEquals(
    freshnessLine(freshness, { polls: 1 }),
    "97.3 % of 1,234 servers probably unchanged since the last probe: 90m ago (median), " +
      "12d (95th percentile); 1 poll; 1,234 discovery probes, 113 found",
  );
});
