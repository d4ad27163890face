/** Covers src/cli/options/search.ts: searches on the command line find the servers of scans and places. */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { countServers, selectServers, serverPages } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import type { GeoipLookup } from "../../../src/app/geoip/mod.ts";
import {
  findOneServer,
  findServers,
  readSearchWords,
  searchSelection,
} from "../../../src/cli/options/search.ts";
import { onEngines } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";

/** Two scans: the first finds the ports 1, 2 and 3, the second 1 and 4. */
async function scanTwice(database: Database): Promise<void> {
  for (const [i, ports] of [[1, 2, 3], [1, 4]].entries()) {
    const [store, id, at] = [
      new Store(database, () => Promise.resolve()),
      scanId(i),
      i * 3_600_000,
    ];
    const requested = [{ start: 0x7f000000, end: 0x7f000100 }];
    await store.begin({
      id,
      at,
      config: '{"retries":"2"}',
      addresses: { requested, excluded: [] },
    });
    const rows = ports.map((port) =>
      record(port, {
        host: `127.0.0.${port}`,
        seen_at: at + 1,
        scan_id: id,
        name: `Lobby ${port}`,
        requested_as: port === 4 ? "Play.example.org" : null,
      })
    );
    await store.write(rows);
    await store.end({
      ...{ id, since: at, at: at + 1000, state: "finished", downAfter: 2 },
      coverage: { ranges: requested, includes: () => true },
      ...{ probesSent: 1, replies: 1, found: ports.length, packetLoss: 0 },
    });
  }
}

/** Odd addresses are in Germany. */
const geoipOf: GeoipLookup = (host) =>
  /[13]$/.test(host)
    ? { country: "DE", asn: 64500, operator: "Network" }
    : { country: null, asn: null, operator: null };

onEngines("words find servers by country, operator, scan, name and port", async (database) => {
  await scanTwice(database);
  const found = async (words: string, lookup: GeoipLookup | undefined = geoipOf) => {
    const search = readSearchWords(words.split(" "), 0);
    const selection = {
      ...await searchSelection(database, search, lookup),
      sort: "address",
    } as const;
    const ports = await Array.fromAsync(selectServers(database, selection), ({ port }) => port);
    const page = { ...selection, limit: 10 };
    assertEquals(await Array.fromAsync(selectServers(database, page), ({ port }) => port), ports);
    assertEquals(await countServers(database, selection, 10), ports.length);
    return ports;
  };
  assertEquals(await found("country:DE"), [1, 3]);
  assertEquals(await found("unknown:country port:1,2"), [2]);
  assertEquals(await found("unknown:operator,software"), [2, 4]);
  assertEquals(await found("operator:64500 lobby"), [1, 3]);
  assertEquals(await found("operator:1"), []);
  assertEquals([await found("saw:lost"), await found("saw:new")], [[2, 3], [4]]);
  assertEquals(await found(`scan:${scanId(0)} country:DE`), [1, 3]);
  assertEquals(await found("saw:lost country:DE"), [3]);
  assertEquals(await found("play.EXAMPLE.org:4"), [4]);
  assertEquals(await found("play.example.org:5"), []);
  await assertRejects(
    () => searchSelection(database, { country: ["DE"] }, undefined),
    InputError,
    "without --geoip FILE.mmdb",
  );
  await assertRejects(
    () => searchSelection(database, { scan: scanId(7) }, undefined),
    InputError,
    `Cannot find the scan ${scanId(7)}`,
  );
});

onEngines("words stand for all servers that they name or match", async (database) => {
  await scanTwice(database);
  const keys = async (...words: string[]) => {
    const selection = await findServers(database, words, 0, geoipOf);
    const pages = await Array.fromAsync(serverPages(database, selection));
    return pages.flat().map(({ key }) => key).sort();
  };
  const all = ["127.0.0.1:1", "127.0.0.2:2", "127.0.0.3:3", "play.example.org:4"];
  assertEquals(await keys(), all);
  assertEquals(await keys("127.0.0.2"), ["127.0.0.2:2"]);
  assertEquals(await keys("lobby", "port:2,3"), ["127.0.0.2:2", "127.0.0.3:3"]);
  assertEquals((await keys("country:DE")).length, 2);
  for (
    const [words, message] of [
      [["127.0.0.9"], 'Cannot find "127.0.0.9": no server of'],
      [["absent", "port:1"], 'Cannot find "absent port:1": no server of'],
      [["portt:1"], 'Cannot use "portt:1" in a search'],
    ] as const
  ) {
    await assertRejects(() => keys(...words), InputError, message);
  }
});

onEngines("words stand for one server if they match only one", async (database) => {
  await scanTwice(database);
  const key = async (...words: string[]) =>
    (await findOneServer(database, words, 0, undefined)).key;
  assertEquals(await key("127.0.0.2"), "127.0.0.2:2");
  assertEquals(await key("play.example.org"), "play.example.org:4");
  assertEquals(await key("lobby", "port:3"), "127.0.0.3:3");
  assertEquals(await key("saw:new"), "play.example.org:4");
  for (
    const [words, message] of [
      [["lobby"], '"lobby" matches 127.0.0.1:1, 127.0.0.2:2, 127.0.0.3:3 and others; name one'],
      [["lobby", "port:2,3"], '"lobby port:2,3" matches 127.0.0.2:2, 127.0.0.3:3; name one'],
      [["127.0.0.9"], "it is not in"],
      [["absent", "port:1"], 'Cannot find "absent port:1": no server of'],
      [["portt:1"], 'Cannot use "portt:1" in a search'],
    ] as const
  ) {
    await assertRejects(() => key(...words), InputError, message);
  }
});
