/** The targets of a shard. Covers src/app/scan/prepare_scan.ts and src/app/targets/find_targets.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { prepareScan } from "../../../src/app/scan/prepare_scan.ts";
import { readScan } from "../../../src/app/scan/read_scan.ts";
import { formatAddress, formatEndpoint, parseAddress } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import { serverId } from "../../../src/core/record.ts";
import { callContext } from "../../../src/library/common_options.ts";
import { givenOptions } from "../../../src/library/given_options.ts";
import { scan } from "../../../src/library/scan.ts";
import type { ScanOptions } from "../../../src/library/scan_options.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { networkOf } from "../../../src/targets/shards.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { inFolder } from "../resume/stopped_programs.ts";

/** Five networks, one of them with a port of its own. */
const WORDS = ["10.0.0.0/23", "10.0.2.0/28", "10.9.0.5:7777", "fd00::1", "fd00:0:1::/120"];

const shardsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ index: i + 1, count }));

async function prepared(words: readonly string[], options: ScanOptions) {
  const context = {
    ...callContext("scan", options),
    program: "1.0.0",
    takesRows: true,
    writeRows: () => Promise.resolve(0),
  };
  const { request } = await readScan(givenOptions("scan", words, options), context);
  return await prepareScan(request);
}

Deno.test("shards have the targets of all networks, with the limits of the whole scan", async () => {
  const options = { network: new SimulatedNetwork(), seed: 3, exclude: ["10.0.1.7", "10.0.0.9"] };
  const all = await prepared(WORDS, options);
  const found: string[] = [];
  const sizes: number[][] = [];
  for (const shard of shardsOf(4)) {
    const { named: { targets }, whole, selection, limits, plan } = await prepared(WORDS, {
      ...options,
      shard,
    });
    assertEquals([whole, limits], [all.whole, all.limits]);
    assertEquals([selection.targets.addresses, selection.order.shard], [targets, shard]);
    for (const { addresses, ports, usesScanPorts } of targets.groups) {
      for (const { start, end } of addresses) {
        found.push(`${formatAddress(start)} ${end} ${ports} ${usesScanPorts}`);
      }
    }
    sizes.push([...plan.passes.udp.sizes, ...plan.passes.tcp.sizes]);
  }
  const { passes: { udp, tcp } } = all.plan;
  const sums = [...udp.sizes, ...tcp.sizes].map((_, i) =>
    sizes.reduce((sum, one) => sum + (one[i] ?? 0), 0)
  );
  assertEquals(sums, [...udp.sizes, ...tcp.sizes]);
  assertEquals(found.length, new Set(found).size);
});

Deno.test("a shard without a network is refused with the number of networks", async () => {
  const options = { network: new SimulatedNetwork(), seed: 3 };
  const shard = { index: 8, count: 9 };
  const { named } = await prepared(WORDS, { ...options, shard: { ...shard, index: 6 } });
  assert(named.targets.size > 0n);
  await assertRejects(
    () => prepared(WORDS, { ...options, shard }),
    InputError,
    "Cannot use --shard 8/9: the targets are in 6 networks (/24, IPv6: /48)",
  );
});

Deno.test("each shard needs the permission for the public addresses of all shards", async () => {
  const options = { network: new SimulatedNetwork(), seed: 3 };
  for (const shard of shardsOf(2)) {
    await assertRejects(
      () => prepared(["10.0.0.0/24", "8.8.8.8"], { ...options, shard }),
      InputError,
      "Cannot scan 1 public address without iHavePermission",
    );
  }
});

/** Scans a shard of a /21 with servers, and returns the endpoints that were found and probed. */
async function scanShard(words: readonly string[], options: ScanOptions, count = 100) {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const fleet = { range: "10.0.0.0/21", servers: count, software: ["bds"] };
  const servers = network.addFleet(fleet);
  const rows = await network.run(Array.fromAsync(scan(words, { ...options, network })));
  const sent = [...network.datagrams.sent, ...network.streams.begun];
  return { servers, found: rows.map(serverId), sent: sent.map(({ to }) => to) };
}

Deno.test("all shards together find every server once, each in networks of its own", async () => {
  const found: string[] = [];
  const networks: number[] = [];
  for (const shard of shardsOf(3)) {
    const one = await scanShard(["10.0.0.0/21"], { seed: 5, shard });
    found.push(...one.found);
    networks.push(...new Set(one.sent.map(({ address }) => Number(networkOf(address)))));
  }
  const { servers } = await scanShard(["10.9.0.0/32"], {});
  assertEquals(found.toSorted(), servers.map(serverId).toSorted());
  const first = Number(networkOf(parseAddress("10.0.0.0")!));
  assertEquals(networks.toSorted(), Array.from({ length: 8 }, (_, i) => first + i));
});

Deno.test("a shard is resumed with its own targets", async () => {
  await inFolder(async (folder) => {
    const output = [`${folder}/a.csv`];
    const shard = { index: 2, count: 3 };
    const options = { seed: 5, shard, protocol: ["raknet"], retries: 0, output };
    const whole = await scanShard(["10.0.0.0/21"], { ...options, output: undefined });
    const first = await scanShard(["10.0.0.0/21"], { ...options, rate: 100, maxRuntimeMs: 3000 });
    assert(first.found.length > 0 && first.found.length < whole.found.length);
    const second = await scanShard([], { resume: `${output}.checkpoint`, maxRuntimeMs: 1e6 });
    assertEquals([...first.found, ...second.found].toSorted(), whole.found.toSorted());
    const targets = new Set(whole.sent.map(formatEndpoint));
    assert(second.sent.length > 0);
    assert([...first.sent, ...second.sent].every((to) => targets.has(formatEndpoint(to))));
  });
});

Deno.test("a shard misses only servers of its own networks, and databases have the ranges of all", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/s.db`;
    const options = { seed: 5, output: [path], protocol: ["raknet"] };
    const { found } = await scanShard(["10.0.0.0/21"], options);
    const shard = { index: 1, count: 3 };
    const { sent } = await scanShard(["10.0.0.0/21"], { ...options, shard }, 0);
    const probed = new Set(sent.map(formatEndpoint));
    assert(probed.size > 256 && probed.size < 4 * 256);
    await using database = openSqlite(path);
    const missed = await database.rows(
      "select key from servers join server_state on server = id where missed_scans = 1",
    );
    assertEquals(
      missed.map(({ key }) => String(key)).toSorted(),
      found.filter((id) => probed.has(id)).toSorted(),
    );
    const ranges = await database.rows(
      "select scan, excluded from scan_ranges order by scan",
    );
    assertEquals(ranges, [{ scan: 1, excluded: 0 }, { scan: 2, excluded: 0 }]);
  });
});
