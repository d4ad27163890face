/**
 * A PostgreSQL server that is silent because the network drops all packets: its statements end, and so
 * do programs. Covers src/store/database/responding_server.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { type Database, Unavailable } from "../../src/store/database/database.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { SERVER_WAITS, type ServerWaits } from "../../src/store/database/responding_server.ts";
import { finish, run, start, until } from "../cli/program.ts";
import { startSwallowingProxy, type SwallowingProxy } from "../fakes/swallowing_proxy.ts";
import { connect, postgresTest } from "../store/databases.ts";

/** A proxy before the server of a database, and the URL of the database through it. */
function proxied(url: string): { readonly proxy: SwallowingProxy; readonly url: string } {
  const through = new URL(url);
  const proxy = startSwallowingProxy(Number(through.port));
  through.port = String(proxy.port);
  return { proxy, url: through.href };
}

function open(url: string, waits: Pick<ServerWaits, "silenceMs" | "connectMs">): Promise<Database> {
  const location = parsePostgres(url);
  const all = { ...SERVER_WAITS, ...waits };
  return openPostgres(location, "the test's server", location.password, undefined, all);
}

postgresTest(
  "statements of a server that has gone silent fail, until it is back",
  async (direct) => {
    const { proxy, url } = proxied(direct);
    await using _proxy = proxy;
    await using database = await open(url, { silenceMs: 100, connectMs: 5000 });
    proxy.stall();
    const silent = "the server does not respond";
    const transaction = database.transaction(async () => {
      await assertRejects(() => database.rows("select 1"), Unavailable, silent);
      await database.rows("select 1");
    });
    await assertRejects(() => transaction, Unavailable, silent); // at its begin
    await assertRejects(() => database.rows("select 1"), Unavailable);
    proxy.resume();
    for (let tries = 0;; tries++) { // a connection attempt has a timeout
      const rows = await database.rows("select 1 as one").catch((error) => error);
      if (rows instanceof Unavailable && tries < 100) continue;
      assertEquals([...rows].map((row) => ({ ...row })), [{ one: 1 }]);
      break;
    }
  },
);

postgresTest("a long statement is not cut off: the server accepts connections", async (direct) => {
  const { proxy, url } = proxied(direct);
  await using _proxy = proxy;
  await using database = await open(url, { silenceMs: 50, connectMs: 60_000 });
  await database.rows("select pg_sleep(2)");
  assert(proxy.connections > 1, "the server was not checked");
});

postgresTest("the end of a database ends its statements", async (direct) => {
  const { proxy, url } = proxied(direct);
  await using _proxy = proxy;
  const database = await open(url, { silenceMs: 3_600_000, connectMs: 3_600_000 });
  proxy.stall();
  const running = assertRejects(() => database.rows("select 1"), Unavailable);
  await database[Symbol.asyncDispose]();
  await running;
  await assertRejects(() => database.rows("select 1"), Unavailable, "was closed");
});

/** A receiver of events, which lists their kinds. */
function receive() {
  const kinds: string[] = [];
  const { promise: got, resolve } = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    const events = await one.json() as readonly { readonly event: string }[];
    kinds.push(...events.map(({ event }) => event));
    resolve();
    return new Response("");
  });
  const { port } = server.addr as Deno.NetAddr;
  return {
    kinds,
    got,
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

postgresTest(
  "while the database is silent, a webhook gets events, a scan keeps rows, and both programs end",
  async (direct) => {
    const { proxy, url } = proxied(direct);
    await using _proxy = proxy;
    await using receiver = receive();
    const folder = await Deno.makeTempDir();
    const range = { start: 0x7f450000, end: 0x7f450100 };
    const hosts = drawFleet({ servers: 30, range, seed: 2, software: ["pocketmine"] });
    const targets = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    // Most servers stay online, or the watch would take it for an outage of its own network.
    const [leaving, staying] = [hosts.slice(0, 5), hosts.slice(5)];
    const fleet = { clock: systemClock, seed: 1 };
    await using _staying = await openFleet(staying, fleet);
    const left = await openFleet(leaving, fleet);
    const permissions = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];
    const common = ["--opt-out-file", `${folder}/out.txt`];
    const scan = ["scan", ...targets, "--protocol", "raknet", "-o", url, ...common];
    const options = { permissions, cwd: folder };
    const found = await run([...scan, "--cooldown", "200ms", "-q"], options);
    assertEquals(found.code, 0, found.stderr);

    const hook = ["--webhook", receiver.url, "--webhook-outbox", `${folder}/outbox`];
    const watching = start(["watch", url, "--interval", "5s", ...hook, ...common], options);
    const scanning = start([...scan, "--rate", "1", "--retries", "3"], options);
    const ends = [finish(watching), finish(scanning)];
    await using database = await connect(direct);
    const begun = "select 1 from scans where (select count(*) from scans) = 3 and " +
      "(select count(*) from observations o join scans c on c.id = o.scan where c.kind = 'watch' and " +
      `o.online) = ${hosts.length}`;
    await until(watching, async () => (await database.rows(begun)).length > 0);
    proxy.stall();
    await left[Symbol.asyncDispose]();
    await receiver.got;
    assertEquals([...new Set(receiver.kinds)], ["offline"]);
    watching.kill("SIGTERM");
    scanning.kill("SIGINT");
    const [watched, scanned] = await Promise.all(ends);
    assert(watched.stderr.includes("the server does not respond"), watched.stderr);
    assert(scanned.stderr.includes('rows are in "'), scanned.stderr);
    await Deno.remove(folder, { recursive: true });
  },
);

postgresTest("an interrupted scan ends while another session locks the table", async (url) => {
  const folder = await Deno.makeTempDir();
  const range = { start: 0x7f450200, end: 0x7f450300 };
  const hosts = drawFleet({ servers: 30, range, seed: 3, software: ["pocketmine"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const targets = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
  const permissions = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];
  const options = { permissions, cwd: folder };
  const common = ["--protocol", "raknet", "-o", url, "--opt-out-file", `${folder}/out.txt`];
  const found = await run(["scan", ...targets, ...common, "--cooldown", "200ms", "-q"], options);
  assertEquals(found.code, 0, found.stderr);

  await using holder = await connect(url);
  await using database = await connect(url);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const scanning = start(["scan", ...targets, ...common, "--rate", "1"], options);
  const end = finish(scanning);
  const begun = "select 1 from scans where (select count(*) from scans) = 2";
  await until(scanning, async () => (await database.rows(begun)).length > 0);
  const holding = holder.transaction(async () => {
    await holder.script("lock table servers in access exclusive mode");
    await released;
  });
  const waits = "select 1 from pg_locks where not granted and relation = " +
    "(select oid from pg_class where relname = 'servers' limit 1)";
  await until(scanning, async () => (await database.rows(waits)).length > 0);
  scanning.kill("SIGINT");
  const { stderr } = await end; // the lock is still held
  release();
  await holding;
  assert(stderr.includes("no reply within 10 seconds of the interrupt"), stderr);
  assert(stderr.includes('rows are in "'), stderr);
  await Deno.remove(folder, { recursive: true });
});
