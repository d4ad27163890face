/** Covers src/store/scan_differences.ts and src/store/compared_scans.ts. */
import { assert, assertEquals } from "@std/assert";
import {
  addressesAsked,
  endedScans,
  haveCommon,
  readEndedScan,
} from "../../src/store/compared_scans.ts";
import type { Database } from "../../src/store/database/database.ts";
import { scanDifferences } from "../../src/store/scan_differences.ts";
import { Store } from "../../src/store/store.ts";
import { onEngines } from "./databases.ts";
import { record, scanId } from "./records.ts";

const HOUR = 3_600_000;
const NETWORKS = [0x0a000000, 0x0a000100, 0x0a000200];
const PORTS = [1, 2, 3, 4, 5, 6];

/** A scan of the simulation, and what it was told to do. */
interface Simulated {
  readonly hour: number;
  /** Indexes in {@linkcode NETWORKS}. */
  readonly networks: readonly number[];
  /** Ports up to this one are probed. */
  readonly ports: number;
  readonly isWhole: boolean;
  /** The MOTDs of the servers that replied, by `network port`. */
  readonly replies: ReadonlyMap<string, string>;
}

/** Whole numbers below a limit: a linear congruential generator. */
function randomOf(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}

const keyOf = (server: string) => {
  const [network, port] = server.split(" ").map(Number);
  return `10.0.${network}.0:${port}`;
};

async function run(database: Database, scan: Simulated): Promise<void> {
  const { hour, networks, ports, isWhole, replies } = scan;
  const [store, id, at] = [new Store(database, () => Promise.resolve()), scanId(hour), hour * HOUR];
  const ranges = networks.map((i) => ({ start: NETWORKS[i], end: NETWORKS[i] + 256 }));
  const config = JSON.stringify({ ports: `1-${ports}` });
  await store.begin({ id, at, config, addresses: { requested: ranges, excluded: [] } });
  await store.write([...replies].map(([server, motd]) => {
    const [network, port] = server.split(" ").map(Number);
    return record(port, { host: `10.0.${network}.0`, motd, seen_at: at + 1, scan_id: id });
  }));
  const includes = (_: unknown, port: number) => port <= ports;
  await store.end({
    ...{ id, since: at, at: at + 1000, downAfter: 2, probesSent: 1, replies: 1 },
    ...{ state: "finished", isComplete: isWhole, found: replies.size },
    coverage: isWhole ? { ranges, includes } : { ranges: [], includes },
  });
}

/** The differences between two scans, from what happened. */
function expected(scans: readonly Simulated[], a: Simulated, b: Simulated) {
  const found: string[] = [];
  let [unchanged, notAsked] = [0, 0];
  for (const [i] of NETWORKS.entries()) {
    for (const port of PORTS) {
      const server = `${i} ${port}`;
      const isKnown = (before: number) =>
        scans.some(({ hour, replies }) => hour < before && replies.has(server));
      const covers = ({ networks, ports }: Simulated) => networks.includes(i) && port <= ports;
      const replied = [a, b].map(({ replies }) => replies.get(server));
      const notes = [a, b].map((scan, side) =>
        replied[side] !== undefined || scan.isWhole && covers(scan) && isKnown(scan.hour)
      );
      // The first scan asked the endpoint, when nobody knew the server.
      const asked = notes[0] || a.isWhole && covers(a) && a.ports === b.ports && !isKnown(a.hour);
      if (!notes[0] && !notes[1]) continue;
      if (!asked || !notes[1]) notAsked++;
      else if (replied[0] === undefined && replied[1] === undefined) continue;
      else if (replied[0] === undefined) {
        found.push(`${notes[0] ? "back" : "new"} ${keyOf(server)}`);
      } else if (replied[1] === undefined) found.push(`lost ${keyOf(server)}`);
      else if (replied[0] === replied[1]) unchanged++;
      else found.push(`changed ${keyOf(server)} ${replied[0]} -> ${replied[1]}`);
    }
  }
  return { found: found.sort(), unchanged, notAsked };
}

onEngines("the differences of any two scans are those of what happened", async (database) => {
  const seen = new Set<string>();
  const random = randomOf(5);
  const up = new Map<string, string>();
  const scans: Simulated[] = [];
  for (let hour = 1; hour <= 16; hour++) {
    for (const [i] of NETWORKS.entries()) {
      for (const port of PORTS) {
        const server = `${i} ${port}`;
        const draw = random(6);
        if (draw === 0) up.delete(server);
        else if (draw === 1 || draw === 2 && up.has(server)) up.set(server, `motd ${random(3)}`);
      }
    }
    const networks = [0, 1, 2].filter(() => random(4) > 0);
    const [ports, isWhole] = [random(3) === 0 ? 3 : 6, random(5) > 0];
    const isAsked = (server: string) => {
      const [network, port] = server.split(" ").map(Number);
      return networks.includes(network) && port <= ports && (isWhole || random(2) === 0);
    };
    const replies = new Map([...up].filter(([server]) => isAsked(server)));
    const scan = { hour, networks, ports, isWhole, replies };
    scans.push(scan);
    await run(database, scan);
  }
  const ended = (await endedScans(database)).toReversed();
  assertEquals(ended.map(({ id }) => id), scans.map(({ hour }) => scanId(hour)));
  for (const [i, a] of scans.entries()) {
    for (const [j, b] of scans.entries()) {
      if (j <= i) continue;
      const [before, now] = [
        await readEndedScan(database, ended[i]),
        await readEndedScan(database, ended[j]),
      ];
      const { servers, unchanged, notAsked } = await scanDifferences(database, before, now);
      const found = servers.map(({ difference, server, changes }) => {
        seen.add(difference);
        const [old, later] = changes?.motd ?? [];
        return `${difference} ${server}${old === undefined ? "" : ` ${old} -> ${later}`}`;
      });
      const message = `${database.engine}: ${a.hour} and ${b.hour}`;
      assertEquals({ found: found.sort(), unchanged, notAsked }, expected(scans, a, b), message);
    }
  }
  assertEquals([...seen].sort(), ["back", "changed", "lost", "new"]);
});

onEngines("a change whose event was removed is a change without values", async (database) => {
  const scan = (hour: number, motd: string) =>
    run(database, {
      ...{ hour, networks: [0], ports: 6, isWhole: true },
      replies: new Map([["0 1", motd], ["0 2", "same"]]),
    });
  await scan(1, "a");
  await scan(2, "b");
  const ended = await endedScans(database);
  const read = async () => {
    const [now, before] = [
      await readEndedScan(database, ended[0]),
      await readEndedScan(database, ended[1]),
    ];
    const { servers, unchanged } = await scanDifferences(database, before, now);
    assertEquals(unchanged, 1);
    return servers.map(({ server, changes }) => [server, changes]);
  };
  const [[server, changes]] = await read();
  assert(changes !== null);
  assertEquals(server, "10.0.0.0:1");
  await database.run("delete from events");
  assertEquals(await read(), [["10.0.0.0:1", null]]);
  await database.run("delete from observations");
  assertEquals(await read(), [["10.0.0.0:1", null]]);
});

onEngines(
  "scans without a server in common, and addresses that no scan asked",
  async (database) => {
    assertEquals(await addressesAsked(database), undefined);
    const scan = (hour: number, network: number) =>
      run(database, {
        ...{ hour, networks: [network], ports: 6, isWhole: true },
        replies: new Map([[`${network} 1`, "a"]]),
      });
    await scan(1, 0);
    await scan(2, 1);
    await scan(3, 0);
    const [third, second, first] = await endedScans(database);
    assertEquals(await haveCommon(database, third, second), false);
    assertEquals(await haveCommon(database, third, first), true);
    const asked = (await addressesAsked(database))!;
    assertEquals([NETWORKS[0] + 9, NETWORKS[1], NETWORKS[2]].map(asked), [true, true, false]);
    // A watch notes nothing of what it asked.
    const store = new Store(database, () => Promise.resolve());
    await store.begin({ id: scanId(4), kind: "watch", at: 4 * HOUR, config: "{}" });
    await store.end({
      ...{ id: scanId(4), since: 0, at: 5 * HOUR, state: "finished", downAfter: 3 },
      ...{ probesSent: 1, replies: 1, found: 1 },
    });
    assertEquals((await endedScans(database)).length, 3);
  },
);
