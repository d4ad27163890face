/**
 * A watch of a program with files, databases, a webhook and metrics, on loopback.
 *
 * Covers src/app/watch/.
 */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { watch } from "../../../src/library/watch.ts";
import type { WatchOptions } from "../../../src/library/watch_options.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { startFleet } from "../../../src/testing/start_fleet.ts";
import { freePort } from "../../fakes/free_port.ts";
import { all } from "../../store/databases.ts";
import { inFolder } from "../resume/stopped_programs.ts";
import { longTest } from "../../long.ts";

/** The first event of a watch, and what a function returned while the watch ran. */
async function firstEvent<T>(
  words: readonly string[],
  options: WatchOptions,
  meanwhile?: () => Promise<T>,
) {
  for await (const event of watch(words, options)) return { event, seen: await meanwhile?.() };
  throw new Error("the watch ended without an event");
}

/** Rows of a database. */
async function rowsOf(path: string, sql: string) {
  await using database = openSqlite(path, { readOnly: true });
  return await all(database, sql);
}

longTest(
  "a watch of a program reads a file, and keeps a database up to date, which it can watch",
  async () => {
    await inFolder(async (folder) => {
      const [file, list] = [`${folder}/list.txt`, `${folder}/a.db`];
      const options = { optOutFile: `${folder}/out.txt`, timeoutMs: 3000, retries: 0 };
      {
        await using fleet = await startFleet({
          range: "127.90.1.0/30",
          servers: 1,
          software: ["pocketmine"],
        });
        const [{ host }] = fleet.servers;
        await Deno.writeTextFile(file, `${host}:19132\n`);
        const { event } = await firstEvent([file], { ...options, output: [list] });
        assertEquals([event.event, event.host], ["online", host]);
      }
      const [scan] = await rowsOf(list, "select kind, state, found, config from scans");
      assertEquals([scan.kind, scan.state, scan.found], ["watch", "finished", 1]);
      assertEquals(JSON.parse(String(scan.config)).output, [list]);
      assertEquals(await rowsOf(list, "select names from server_players"), []);
      const { event } = await firstEvent([list], { ...options, downAfter: 1 });
      assertEquals(event.event, "offline");
      const states = await rowsOf(list, "select online from server_state");
      assertEquals(states, [{ online: 0 }]);
    });
  },
);

Deno.test("a watch of a program sends events to a webhook, and serves metrics and probes", async () => {
  await inFolder(async (folder) => {
    await using fleet = await startFleet({ range: "127.90.2.0/30", servers: 1, software: ["bds"] });
    const endpoint = `${fleet.servers[0].host}:19132`;
    const received: string[] = [];
    await using receiver = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        received.push(await request.text());
        return new Response();
      },
    );
    const metrics = freePort();
    const get = async (path: string) =>
      await (await fetch(`http://127.0.0.1:${metrics}${path}`)).text();
    const { event, seen } = await firstEvent([endpoint], {
      optOutFile: `${folder}/out.txt`,
      webhook: `http://127.0.0.1:${receiver.addr.port}/hook`,
      webhookOutbox: `${folder}/outbox`,
      metrics,
      probe: true,
    }, async () => [await get("/metrics"), await get(`/probe?target=${endpoint}`)]);
    assertEquals(event.event, "online");
    assertStringIncludes(seen![0], 'blocksweep_events_total{event="online"} 1');
    assertStringIncludes(seen![1], "probe_success 1");
    const sent = received.flatMap((text) => JSON.parse(text));
    assertEquals(sent.map(({ event }) => event), ["online"]);
  });
});

Deno.test("an internal error of a poll ends the watch with this error, and closes its sockets", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ host: "10.0.0.7", software: "bds" });
  const connect = () => Promise.reject(new TypeError("a bug"));
  const dialer = { value: { ...network.dialer, connect } };
  const broken: SimulatedNetwork = Object.create(network, { dialer });
  const events = Array.fromAsync(watch(["10.0.0.7:19132"], { network: broken }));
  await assertRejects(() => network.run(events), TypeError, "a bug");
  assertEquals(network.datagrams.ports, []);
});

Deno.test("the signal of a program ends the wait for a locked database, without an error", async () => {
  await inFolder(async (folder) => {
    const list = `${folder}/a.db`;
    {
      await using made = openSqlite(list);
      await createTables(made);
    }
    using other = new DatabaseSync(list);
    other.exec("begin exclusive");
    const ending = new AbortController();
    const notes: string[] = [];
    const onNote = (line: string) => {
      notes.push(line);
      ending.abort();
    };
    const events = await Array.fromAsync(watch([list], { onNote, signal: ending.signal }));
    other.exec("rollback");
    assertEquals(events, []);
    assert(notes[0].endsWith("waiting until the lock is released"), notes[0]);
  });
});
