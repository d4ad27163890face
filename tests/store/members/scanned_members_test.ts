/** What scans of a part of their targets store of servers: those of a shard, and adaptive ones. */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { serverId } from "../../../src/core/record.ts";
import { scan } from "../../../src/library/scan.ts";
import type { ScanOptions } from "../../../src/library/scan_options.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { MEMBER_KINDS, readMembers } from "../../../src/store/members/members.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";

const RANGE = "10.0.0.0/20";

/** What a scan stored of servers by kind, without kinds that have none. */
async function membersOf(file: string, scan: number): Promise<Record<string, string[]>> {
  await using db = openSqlite(file);
  const servers = new Map(
    (await db.rows("select id, key from servers", [])).map(({ id, key }) => [id, String(key)]),
  );
  const found: Record<string, string[]> = {};
  for (const kind of MEMBER_KINDS) {
    const keys = (await readMembers(db, scan, kind)).map((server) => servers.get(server) ?? "");
    if (keys.length > 0) found[kind] = keys.toSorted();
  }
  return found;
}

/**
 * Scans 60 servers in 4,096 addresses, removes every third server, and scans again.
 *
 * @returns For each scan of a part: its servers by kind, and what it should have found and missed.
 */
async function scanParts(parts: readonly ScanOptions[]) {
  const scans: {
    readonly members: Record<string, string[]>;
    readonly replied: readonly string[];
    readonly silent: readonly string[];
  }[] = [];
  await inFolder(async (folder) => {
    const file = `${folder}/servers.db`;
    const network = new SimulatedNetwork();
    const all = network.addFleet({ range: RANGE, servers: 60, software: ["bds"] });
    const given = { protocol: ["raknet"], ports: "19132", rate: 1000, output: [file], seed: 5 };
    const run = (options: ScanOptions) =>
      network.run(Array.fromAsync(scan([RANGE], { ...given, ...options, network })));
    await run({});
    const keys = all.map(serverId).toSorted();
    assertEquals(await membersOf(file, 1), { found: keys, new: keys });
    const removed = all.filter((_, i) => i % 3 === 0);
    for (const server of removed) network.removeServer(server);
    const gone = new Set(removed.map(serverId));
    network.datagrams.record = true;
    for (const [i, options] of parts.entries()) {
      const before = network.datagrams.sent.length;
      await run(options);
      const sent = network.datagrams.sent.slice(before);
      const probed = new Set(sent.map(({ to }) => formatEndpoint(to)));
      const reached = keys.filter((key) => probed.has(key));
      scans.push({
        members: await membersOf(file, 2 + i),
        replied: reached.filter((key) => !gone.has(key)),
        silent: reached.filter((key) => gone.has(key)),
      });
    }
  });
  return scans;
}

Deno.test("a shard has found and missed only servers of its networks", async () => {
  const shards = await scanParts([1, 2].map((index) => ({ shard: { index, count: 2 } })));
  for (const { members, replied, silent } of shards) {
    assert(
      replied.length > 0 && silent.length > 0 && silent.length < 20,
      `${silent.length} silent`,
    );
    const { found, missed, ...others } = members;
    assertEquals([found, missed], [replied, silent]);
    assertEquals(Object.keys(others).filter((kind) => kind !== "lost"), []);
  }
  const [{ members: one }, { members: two }] = shards;
  assertEquals([...one.found, ...two.found].length, 40);
  assertEquals(new Set([...one.missed, ...two.missed]).size, 20);
});

Deno.test("an adaptive scan has missed only servers that it probed", async () => {
  const [{ members, replied, silent }] = await scanParts([{
    adaptive: true,
    rate: 100,
    budget: 1000,
  }]);
  assert(silent.length > 0 && silent.length < 20, `${silent.length} silent`);
  assertEquals([members.found, members.missed], [replied, silent]);
});
