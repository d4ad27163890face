/** The webhooks of scan and lan. Covers src/app/webhooks/. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { formatAddress } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { run } from "../../cli/program.ts";
import { all } from "../../store/databases.ts";
import { home, JAVA, lan, ROOM } from "../lan/lan_runs.ts";
import { inFolder } from "../resume/stopped_programs.ts";

interface Received {
  readonly id: string;
  readonly event: string;
  readonly host: string | null;
  readonly name: string | null;
  readonly server?: { readonly players: unknown };
}

/** A receiver of events that may be down. */
function receive() {
  const events: Received[] = [];
  let status = 200;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    const list = await one.json() as Received[];
    if (status === 200) events.push(...list);
    return new Response("", { status });
  });
  return {
    events,
    answer: (next: number) => status = next,
    url: `http://127.0.0.1:${server.addr.port}/T0K3N`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The ids of the events in a database, in their order. */
async function storedIds(path: string) {
  await using database = openSqlite(path, { readOnly: true });
  return (await all(database, "select id from events order by tx, seq")).map(({ id }) => id);
}

Deno.test("lan sends each new server to its webhook, what changes, and no names of players", () =>
  inFolder(async (folder) => {
    await using receiver = receive();
    const path = `${folder}/a.db`;
    const network = home();
    const args = ["-o", path, "--webhook", receiver.url];
    const { delivery } = await lan(network, args);
    assertEquals(delivery, "webhook: 2 delivered, 0 waiting, 0 lost");
    const told = receiver.events.map(({ event, host }) => `${event} ${host}`).toSorted();
    assertEquals(told, [`new ${JAVA}`, `new ${ROOM}`]);
    const java = receiver.events.find(({ host }) => host === JAVA)!;
    assertEquals(java.server!.players, null);

    network.addServer({ host: ROOM, software: "bds", status: { name: "Renamed" } });
    await lan(network, args);
    assertEquals(receiver.events.slice(2).map(({ event, name }) => [event, name]), [
      ["changed", "Renamed"],
    ]);
    assertEquals(receiver.events.map(({ id }) => id), await storedIds(path));
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assertEquals(names.filter((name) => name.includes("webhook")), []);
  }));

Deno.test("what a webhook does not deliver before the end waits in the database for the next command", () =>
  inFolder(async (folder) => {
    await using receiver = receive();
    const path = `${folder}/a.db`;
    const args = ["-o", path, "--webhook", receiver.url];
    receiver.answer(503);
    const lines: string[] = [];
    const network = home();
    const { delivery } = await lan(network, args, { lines });
    assertEquals(delivery, "webhook: 0 delivered, 2 waiting in the database, 0 lost");
    assertStringIncludes(lines.join("\n"), "webhook delivery failed (HTTP status 503)");
    receiver.answer(200);
    assertEquals((await lan(network, args)).delivery, "webhook: 2 delivered, 0 waiting, 0 lost");
    assertEquals(receiver.events.map(({ id }) => id), await storedIds(path));
  }));

Deno.test("a webhook of scan and lan needs a database, and other options of webhooks need the webhook", async () => {
  const url = ["--webhook", "http://127.0.0.1:9/T0K3N"];
  for (
    const [args, message] of [
      [["scan", "127.0.0.1", ...url], /Cannot use --webhook without a database.*-o DATABASE/],
      [["scan", "127.0.0.1", ...url, "-o", "a.csv"], /without a database/],
      [["lan", ...url], /Cannot use --webhook without a database.*-o DATABASE/],
      [["scan", "127.0.0.1", "--webhook-events", "new"], /webhook-events without --webhook/],
      [["lan", "--continuous", "--once", "5"], /Cannot use --continuous with --once/],
      [["lan", "--webhook-header", "A=env:B"], /--webhook-header without --webhook/],
    ] as const
  ) {
    const { code, stderr } = await run(args);
    assertEquals(code, 2, stderr);
    assertMatch(stderr, message);
    assert(!stderr.includes("T0K3N"), stderr);
  }
});

Deno.test("a scan sends new servers to its webhook; its files and messages have no secret", () =>
  inFolder(async (folder) => {
    await using receiver = receive();
    const range = { start: 0x7f380000, end: 0x7f380010 };
    const hosts = drawFleet({ servers: 4, range, seed: 2, software: ["pocketmine"] });
    const path = `${folder}/a.db`;
    const options = ["--protocol", "raknet", "--cooldown", "200ms", "--timeout", "1s"];
    const scan = async (count: number, ...more: string[]) => {
      await using _fleet = await openFleet(hosts.slice(0, count), { clock: systemClock, seed: 1 });
      return await run(["scan", "127.56.0.0/28", ...options, "-o", path, ...more]);
    };
    assertEquals((await scan(3)).code, 0);
    const { code, stderr } = await scan(4, "--webhook", receiver.url, "--webhook-events", "new");
    assertEquals(code, 0, stderr);
    assertStringIncludes(stderr, "webhook: 1 delivered, 0 waiting, 0 lost");
    const { endpoint: { address } } = hosts[3];
    const told = receiver.events.map(({ event, host }) => [event, host]);
    assertEquals(told, [["new", formatAddress(address)]]);
    for (const text of [stderr, new TextDecoder("latin1").decode(await Deno.readFile(path))]) {
      assert(!text.includes("T0K3N"));
    }
  }));
