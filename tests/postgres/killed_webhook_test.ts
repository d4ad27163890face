/**
 * Watches with a webhook that are killed at many points, as real processes: each event of the database
 * reaches the receiver.
 */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { finish, run, start, until } from "../cli/program.ts";
import { all } from "../store/databases.ts";
import { onEngines, type TestedDatabase } from "./tested_databases.ts";

/** Where a watch is killed. */
const POINTS = ["committed", "requested", "accepted", "moved", "waiting"] as const;
const ROUNDS = 15;
const SERVERS = 12;

/** A receiver that holds or fails requests, and lists the ids of accepted events. */
function receive() {
  const ids: string[] = [];
  const state = { mode: "accepts" as "accepts" | "holds" | "fails", requests: 0 };
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    const events = await one.json() as readonly { readonly id: string }[];
    state.requests++;
    if (state.mode === "holds") await released;
    if (state.mode !== "accepts") return new Response("", { status: 503 });
    ids.push(...events.map(({ id }) => id));
    return new Response("");
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const stop = () => {
    release();
    return server.shutdown();
  };
  return { ids, state, url, [Symbol.asyncDispose]: stop };
}

/** Kills watches of a database while they report that all its servers are online again. */
async function killWatches({ first, folder, database: path, open }: TestedDatabase): Promise<void> {
  const range = { start: first, end: first + 256 };
  const hosts = drawFleet({ servers: SERVERS, range, seed: 2, software: ["pocketmine"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const permissions = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];
  const optOuts = ["--opt-out-file", `${folder}/out.txt`];
  const targets = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
  const found = await run(
    ["scan", ...targets, "--protocol", "raknet", "--cooldown", "200ms", "-q", ...optOuts]
      .concat("-o", path),
    { permissions },
  );
  assertEquals(found.code, 0, found.stderr);
  await using database = await open();
  await using receiver = receive();
  const { state, ids } = receiver;
  const args = ["watch", path, "--interval", "5s", ...optOuts, "--webhook", receiver.url];
  const count = async (sql: string) => Number((await all(database, sql))[0].n);
  const written = () => count("select count(*) as n from events");
  const position = () => count("select coalesce(max(seq), 0) as n from webhook_positions");
  for (let round = 0; round < ROUNDS; round++) {
    const point = POINTS[round % POINTS.length];
    // As after an outage, and 20 seconds after the last watch was killed.
    const hour = database.engine === "postgres" ? "interval '1 hour'" : "3600000";
    await database.script(
      `update server_state set online = false, probed_at = probed_at - ${hour}; ` +
        "update webhook_positions set holder = null;",
    );
    const [events, requests, accepted, moved] = [
      await written(),
      state.requests,
      ids.length,
      await position(),
    ];
    state.mode = point === "requested" ? "holds" : point === "waiting" ? "fails" : "accepts";
    const watch = start(args, { permissions });
    const isReached = {
      committed: async () => await written() > events,
      requested: () => state.requests > requests,
      accepted: () => ids.length > accepted,
      moved: async () => await position() > moved,
      waiting: () => state.requests > requests,
    }[point];
    await until(watch, isReached);
    watch.kill("SIGKILL");
    await finish(watch);
  }
  await database.script("update webhook_positions set holder = null");
  state.mode = "accepts";
  const last = start(args, { permissions });
  const stored = async () =>
    (await all(
      database,
      "select e.id from events e join scans c on c.id = e.scan where c.kind = 'watch' " +
        "order by e.tx, e.seq",
    )).map(({ id }) => String(id));
  await until(last, async () => new Set(ids).size === (await stored()).length);
  last.kill("SIGINT");
  const { stderr } = await finish(last);
  const expected = await stored();
  assert(expected.length >= SERVERS * 3, `${expected.length} events`);
  assertEquals([...new Set(ids)], expected); // each one, in their order
  assert(stderr.includes("0 waiting, 0 lost"), stderr);
}

onEngines(
  "each event of a database reaches the webhook, wherever watches are killed",
  { sqlite: 0x7f780100, postgres: 0x7f790000 },
  killWatches,
);
