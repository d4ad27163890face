import { assertEquals, assertRejects } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { FIELDS } from "../../../src/core/record.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/sinks/json.ts";
import { listDifferences, readServerList } from "../../../src/app/targets/record_differences.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { Store } from "../../../src/store/store.ts";
import { NASTY, record, scanId } from "../../store/records.ts";

const ENVIRONMENT = connectionEnvironment(() => {});

/** Whole numbers below a limit: a linear congruential generator. */
function randomOf(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
}

const VERSIONS = ["1.21", "1.20.1", "=1+1", ...NASTY.slice(8, 10)];

/** A set of servers: the version of each, by its port. */
function randomSet(random: (limit: number) => number): Map<number, string> {
  const ports = Array.from({ length: 12 }, (_, i) => i + 1).filter(() => random(3) > 0);
  return new Map(ports.map((port) => [port, VERSIONS[random(VERSIONS.length)]]));
}

const recordsOf = (set: ReadonlyMap<number, string>): ServerRecord[] =>
  [...set].map(([port, version]) => record(port, { version, seen_at: 1000 }));

/** Writes a set as each kind of list in turn, and returns its path. */
async function write(folder: string, i: number, set: ReadonlyMap<number, string>): Promise<string> {
  const format = [csvFormat(FIELDS), ndjsonFormat(FIELDS), jsonFormat(FIELDS)][i % 4];
  if (format !== undefined) {
    const path = `${folder}/${i}.${format.name}`;
    const rows = recordsOf(set).map((one, at) => format.row(one, at === 0));
    await Deno.writeTextFile(path, format.head + rows.join("") + format.tail);
    return path;
  }
  const path = `${folder}/${i}.db`;
  await using database = await openStore(parseDatabaseLocation(path)!, ENVIRONMENT);
  await new Store(database, () => Promise.resolve()).write(recordsOf(set));
  return path;
}

Deno.test("the differences of random pairs of files and databases are those of their servers", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const random = randomOf(3);
    const sets = Array.from({ length: 16 }, () => randomSet(random));
    const paths = await Promise.all(sets.map((set, i) => write(folder, i, set)));
    const lists = await Promise.all(paths.map((path) => readServerList(path, ENVIRONMENT, fail)));
    for (const [i, before] of sets.entries()) {
      for (const [j, now] of sets.entries()) {
        const expected = Array.from({ length: 12 }, (_, k) => k + 1).flatMap((port) => {
          const [a, b] = [before.get(port), now.get(port)];
          if (a === b) return [];
          const kind = a === undefined ? "new" : b === undefined ? "lost" : "changed";
          return [`${kind} 127.0.0.1:${port}`];
        });
        const found = listDifferences(lists[i], lists[j], PROTOCOLS);
        const message = `${paths[i]} ${paths[j]}`;
        assertEquals(
          found.servers.map(({ difference, server }) => `${difference} ${server}`).sort(),
          expected.sort(),
          message,
        );
        const both = [...before.keys()].filter((port) => now.has(port)).length;
        const changed = found.servers.filter(({ difference }) => difference === "changed");
        assertEquals([found.unchanged, found.notAsked], [both - changed.length, 0], message);
        for (const { changes } of changed) assertEquals(Object.keys(changes!), ["version"]);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

function fail(line: string): never {
  throw new Error(line);
}

Deno.test("only columns of both files are compared, and a list of endpoints has none", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const read = async (name: string, text: string) => {
      await Deno.writeTextFile(`${folder}/${name}`, text);
      return await readServerList(`${folder}/${name}`, ENVIRONMENT, () => {});
    };
    const old = await read(
      "old.csv",
      "host,port,seen_at,version,name\n10.0.0.1,1,9,1.20,A\n10.0.0.2,1,9,1.20,B\n",
    );
    const now = await read(
      "now.csv",
      "host,port,seen_at,version,map\n10.0.0.1,1,9,1.21,M\n10.0.0.2,1,9,1.20,M\n",
    );
    const { servers, unchanged } = listDifferences(old, now, PROTOCOLS);
    assertEquals(servers.map(({ changes }) => changes), [{ version: ["1.20", "1.21"] }]);
    assertEquals(unchanged, 1);
    const endpoints = await read("list.txt", "10.0.0.1:1\n10.0.0.3:1\n");
    assertEquals(
      listDifferences(old, endpoints, PROTOCOLS).servers.map(({ difference }) => difference),
      ["new", "lost"],
    );
    await assertRejects(
      () => read("none.txt", "what\nis this\n"),
      InputError,
      "no row of a server",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("servers that a database's scans did not ask are counted apart; offline ones are lost", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const fill = async (name: string, network: number, hosts: readonly string[], down: string) => {
      const path = `${folder}/${name}`;
      await using database = await openStore(parseDatabaseLocation(path)!, ENVIRONMENT);
      const store = new Store(database, () => Promise.resolve());
      const requested = [{ start: network, end: network + 512 }];
      await store.begin({
        id: scanId(1),
        at: 1,
        config: "{}",
        addresses: { requested, excluded: [] },
      });
      await store.write(hosts.map((host) => record(1, { host, seen_at: 1000 })));
      await database.run(
        "update server_state set online = false where server in (select id from servers where key = ?)",
        [`${down}:1`],
      );
      return await readServerList(path, ENVIRONMENT, fail);
    };
    const old = await fill(
      "old.db",
      0x0a000000,
      ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.1.1", "10.0.1.2"],
      "10.0.1.2",
    );
    const now = await fill(
      "now.db",
      0x0a000100,
      ["10.0.0.2", "10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.2.1"],
      "10.0.1.1",
    );
    const { servers, unchanged, notAsked } = listDifferences(old, now, PROTOCOLS);
    assertEquals(servers.map(({ difference, server }) => `${difference} ${server}`), [
      ...["new 10.0.1.3:1", "back 10.0.1.2:1", "lost 10.0.1.1:1"],
    ]);
    assertEquals([unchanged, notAsked], [1, 3]); // 10.0.0.1, 10.0.0.3 and 10.0.2.1
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
