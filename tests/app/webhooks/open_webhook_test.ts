/** A watch that is killed while its webhook's receiver is down, as real processes. */
import { createHmac } from "node:crypto";
import { basename, dirname } from "node:path";
import { openWebhook } from "../../../src/app/webhooks/open_webhook.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { forgettable, record, watchId } from "../../store/records.ts";
import { openOutboxFile } from "../../../src/watch/webhook/outbox_file.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { formatAddress, formatEndpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { finish, PrintedText, run, SCAN, start, until } from "../../cli/program.ts";

const RANGE = { start: 0x7f410000, end: 0x7f410100 };
const SERVERS = 40;

/** A receiver that can be stopped. */
function receive() {
  const ids: string[] = [];
  let isUp = false;
  let queried = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    queried++;
    const list = await one.json() as { id: string }[];
    if (!isUp) return new Response("", { status: 503, statusText: "s3cr3t" });
    ids.push(...list.map(({ id }) => id));
    return new Response("");
  });
  const { port } = server.addr;
  return {
    ids,
    get queried() {
      return queried;
    },
    up: () => isUp = true,
    url: `http://user:hunter2@127.0.0.1:${port}/hooks/T0K3N`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The ids of the events in an outbox that no program uses. */
async function idsIn(path: string): Promise<string[]> {
  const { database } = await openOutboxFile(path);
  await using _database = database;
  return (await database.rows("select id from outbox order by seq")).map(({ id }) => String(id));
}

/** The ids of the events in an outbox that a watch uses. */
async function idsInCopy(path: string): Promise<string[]> {
  const copy = `${path}-copy`;
  try {
    for (const end of ["", "-wal"]) await Deno.copyFile(`${path}${end}`, `${copy}${end}`);
    return await idsIn(copy);
  } catch (error) {
    // The copies of the file and of its log may be of different times.
    if (error instanceof Deno.errors.NotFound || /malformed|no such table/.test(`${error}`)) {
      return [];
    }
    throw error;
  } finally {
    await Deno.remove(copy).catch(() => {});
  }
}

/** Whether a file exists. */
function isThere(path: string): boolean {
  return [...Deno.readDirSync(dirname(path))].some(({ name }) => name === basename(path));
}

Deno.test("events that waited when a watch was killed are delivered by the next one, in order", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const hosts = drawFleet({ servers: SERVERS, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const servers = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    await using receiver = receive();
    const queried = ["--interval", "5s", "--protocol", "raknet", "--webhook", receiver.url];
    const outbox = `${folder}/outbox`;
    const args = ["watch", ...servers, ...queried, "--webhook-outbox", outbox];
    const killed = start(args);
    await until(killed, async () => {
      const ids = receiver.queried === 0 ? [] : await idsInCopy(outbox);
      return ids.length >= SERVERS;
    });
    killed.kill("SIGKILL");
    await finish(killed);
    for (const file of [outbox, `${outbox}-wal`]) {
      assertEquals(Deno.statSync(file).mode! & 0o777, 0o600);
    }
    Deno.writeTextFileSync(`${outbox}-wal`, "torn", { append: true });
    const waiting = await idsIn(outbox);
    assertEquals(waiting.length, SERVERS);

    receiver.up();
    const next = start(args); // each server is reported as new again
    await until(next, () => receiver.ids.length >= 2 * SERVERS);
    next.kill("SIGINT");
    const { stderr } = await finish(next);
    assertEquals(receiver.ids.slice(0, SERVERS), waiting);
    assertEquals(new Set(receiver.ids).size, 2 * SERVERS);
    assertStringIncludes(
      stderr,
      `; ${SERVERS} events and ${SERVERS} of an earlier watch; webhook: ${2 * SERVERS} ` +
        "delivered, 0 waiting, 0 lost",
    );
    assertEquals(isThere(outbox), false);
    for (const secret of ["hunter2", "T0K3N"]) {
      assert(!stderr.includes(secret), stderr);
      assert(![...Deno.readDirSync(folder)].some(({ name }) => name.includes(secret)));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("at Ctrl-C each event is delivered, waiting or lost, with a file and without", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const hosts = drawFleet({ servers: 8, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const servers = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    await using receiver = receive();
    const end = async (options: readonly string[], permissions: readonly string[]) => {
      const before = receiver.queried;
      const queried = ["--interval", "5s", "--protocol", "raknet", "--webhook", receiver.url];
      const child = start(["watch", ...servers, ...queried, ...options], { permissions });
      await until(child, () => receiver.queried > before);
      child.kill("SIGINT");
      const { stderr } = await finish(child);
      const pattern = /(\d+) events?; webhook: (\d+) delivered, (\d+) waiting.*, (\d+) lost/;
      const [events, delivered, waiting, lost] = pattern.exec(stderr)!.slice(1).map(Number);
      assertEquals(delivered + waiting + lost, events, stderr);
      return { stderr, waiting, lost };
    };
    const kept = await end(["--webhook-outbox", `${folder}/events`], SCAN);
    assertEquals((await idsIn(`${folder}/events`)).length, kept.waiting);
    assert(kept.waiting > 0 && kept.lost === 0, kept.stderr);
    assertStringIncludes(
      kept.stderr,
      "webhook delivery failed (HTTP status 503): events are queued",
    );
    const readOnly = SCAN.filter((permission) => !permission.startsWith("--allow-write"));
    const lost = await end([], readOnly);
    assertEquals([lost.waiting, lost.lost > 0], [0, true]);
    assertStringIncludes(lost.stderr, "are kept in memory only (--allow-write is not granted)");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the outbox is in the user's folder or beside the database, and there is none without a webhook", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const hosts = drawFleet({ servers: 1, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const server = formatEndpoint(hosts[0].endpoint);
    await using receiver = receive();
    const filesAfter = async (options: readonly string[]) => {
      const args = ["watch", server, "--interval", "5s", "--protocol", "raknet", "--json"];
      const child = start([...args, "--opt-out-file", `${folder}/out.txt`, ...options], {
        permissions: [...SCAN, "--allow-env"],
        env: { XDG_CONFIG_HOME: folder },
      });
      const before = receiver.queried;
      const printed = new PrintedText(child, child.stdout);
      await printed.until('"online"');
      if (options.includes("--webhook")) await until(child, () => receiver.queried > before);
      child.kill("SIGINT");
      await printed.rest();
      await new Response(child.stderr).text();
      await child.status;
      const files = await Array.fromAsync(walk(folder));
      const names = files.filter((name) => !/out[.]txt|[.]db$/.test(name));
      return names.map((name) => name.slice(folder.length));
    };
    assertEquals(await filesAfter([]), []);
    const hook = ["--webhook", receiver.url];
    const database = (name: string) => ["-o", `${folder}/${name}.db`];
    assertEquals(await filesAfter(database("a")), []);
    assertEquals(await filesAfter([...hook, ...database("b")]), []); // it is in the database
    assertEquals(await filesAfter(hook), ["/blocksweep/webhook.outbox"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The paths of the files in a folder and its sub-folders. */
async function* walk(folder: string): AsyncIterable<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* walk(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

Deno.test("an unusable outbox is refused in one line, and stays unchanged", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/notes.txt`;
    await Deno.writeTextFile(file, "my notes\n");
    const url = ["--webhook", "http://127.0.0.1:9/T0K3N"];
    for (
      const [args, permissions, message] of [
        [[...url, "--webhook-outbox", file], SCAN, /it is not an SQLite database/],
        [[...url, "--webhook-outbox", folder], SCAN, /it is not a regular file/],
        [
          [...url, "--webhook-outbox", `${folder}/no/such`],
          SCAN,
          /Cannot use ".*no\/such": No such/,
        ],
        [["--webhook-outbox", file], SCAN, /Cannot use --webhook-outbox without --webhook/],
        [
          url,
          ["--allow-net=127.0.0.1:1,0.0.0.0", ...SCAN.slice(1)],
          /"127\.0\.0\.1:9".*--allow-net/,
        ],
      ] as const
    ) {
      const { code, stderr } = await run(["watch", "127.0.0.1:1", ...args], { permissions });
      assertEquals(code, 2, stderr);
      assertMatch(stderr, message);
      assertEquals(stderr.trim().split("\n").length, 1, stderr);
      assert(!stderr.includes("T0K3N"), stderr);
    }
    assertEquals(await Deno.readTextFile(file), "my notes\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The files below a folder, and the texts, that contain a secret. */
async function placesOf(secrets: readonly string[], folder: string, texts: readonly string[]) {
  const places = texts.filter((text) => secrets.some((secret) => text.includes(secret)));
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile || name.startsWith("secret-")) continue;
    const text = new TextDecoder("latin1").decode(await Deno.readFile(`${folder}/${name}`));
    if (secrets.some((secret) => text.includes(secret))) places.push(name);
  }
  return places;
}

Deno.test("a receiver verifies signatures, and the secrets are in no file, database, message or argument", async () => {
  const folder = await Deno.makeTempDir();
  const secrets = ["T0K3Nurl", "s3cr3tkey", "b34r3rtok"];
  try {
    const hosts = drawFleet({ servers: 3, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const servers = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    const verified: { id: string; name: string }[] = [];
    const wrong: string[] = [];
    await using receiver = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (one) => {
        const timestamp = one.headers.get("x-blocksweep-timestamp")!;
        const body = await one.text();
        const mac = createHmac("sha256", secrets[1]).update(`${timestamp}.${body}`).digest("hex");
        const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) < 60;
        const isSigned = one.headers.get("x-blocksweep-signature") === `sha256=${mac}`;
        const isAuthorized = one.headers.get("authorization") === `Bearer ${secrets[2]}`;
        if (isRecent && isSigned && isAuthorized && one.url.endsWith(`/${secrets[0]}`)) {
          verified.push(...JSON.parse(body));
        } else wrong.push(one.url);
        return new Response("");
      },
    );
    const write = (name: string, text: string) => {
      Deno.writeTextFileSync(`${folder}/${name}`, text, { mode: 0o600 });
      return `${folder}/${name}`;
    };
    const url = write("secret-url", `http://127.0.0.1:${receiver.addr.port}/${secrets[0]}\n`);
    const key = write("secret-key", secrets[1]);
    const args = [
      ...["watch", ...servers, "--interval", "5s", "--protocol", "raknet", "--json"],
      ...["-o", `${folder}/servers.db`, "--webhook", `@${url}`, "--webhook-secret", `@${key}`],
      ...["--webhook-header", "Authorization=env:BLOCKSWEEP_AUTHORIZATION"],
    ];
    const child = start(args, {
      permissions: [...SCAN, "--allow-env=BLOCKSWEEP_AUTHORIZATION"],
      env: { BLOCKSWEEP_AUTHORIZATION: `Bearer ${secrets[2]}` },
    });
    await until(child, () => verified.length >= 3);
    child.kill("SIGINT");
    const { stdout, stderr } = await finish(child);
    assertEquals(wrong, []);
    assertStringIncludes(stderr, "webhook: 3 delivered, 0 waiting, 0 lost");
    const printed = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const key2 = ({ id, name }: { id: string; name: string }) => `${id} ${name}`;
    assertEquals(verified.map(key2).sort(), printed.map(key2).sort());
    assertEquals(await placesOf(secrets, folder, [stdout, stderr, ...args]), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a receiver that never responds does not delay polls and printed events", async () => {
  const folder = await Deno.makeTempDir();
  const ended = new AbortController();
  let queried = 0;
  const hang = () => {
    queried++;
    return new Promise<Response>((resolve) =>
      ended.signal.addEventListener("abort", () => resolve(new Response("")))
    );
  };
  const serving = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using receiver = Deno.serve(serving, hang);
  try {
    const hosts = drawFleet({ servers: SERVERS, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const servers = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    const url = `http://127.0.0.1:${receiver.addr.port}/`;
    const hook = ["--webhook", url, "--webhook-outbox", `${folder}/outbox`];
    const asked5s = ["--interval", "5s", "--protocol", "raknet", "--json"];
    const child = start(["watch", ...servers, ...asked5s, ...hook]);
    const printed = new PrintedText(child, child.stdout);
    for (const { endpoint: { address } } of hosts) {
      await printed.until(`"host":"${formatAddress(address)}"`);
    }
    await until(child, () => queried > 0);
    child.kill("SIGINT");
    await printed.rest();
    const stderr = await new Response(child.stderr).text();
    await child.status;
    assertMatch(stderr, new RegExp(`${SERVERS} events; webhook: 0 delivered, ${SERVERS} waiting`));
  } finally {
    ended.abort();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a redirect of the receiver is not followed", async () => {
  const folder = await Deno.makeTempDir();
  const paths: string[] = [];
  await using receiver = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (one) => {
      paths.push(new URL(one.url).pathname);
      return Response.redirect(new URL("/elsewhere", one.url), 307);
    },
  );
  try {
    const hosts = drawFleet({ servers: 1, range: RANGE, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const url = `http://127.0.0.1:${receiver.addr.port}/hook`;
    const outbox = ["--webhook-outbox", `${folder}/outbox`];
    const child = start(["watch", formatEndpoint(hosts[0].endpoint), "--webhook", url, ...outbox]);
    await until(child, () => paths.length >= 2);
    child.kill("SIGINT");
    const { stderr } = await finish(child);
    assertEquals(new Set(paths), new Set(["/hook"]));
    assertStringIncludes(stderr, "HTTP status 307, a redirect, which is not followed");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("unusable webhook options are refused in one line without secrets", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const url = ["--webhook", "http://127.0.0.1:9/T0K3N"];
    const template = `${folder}/t.txt`;
    await Deno.writeTextFile(template, "{nmae} T0K3N");
    for (
      const [args, message] of [
        [
          ["--webhook-secret", "T0K3N", ...url],
          "Cannot use --webhook-secret: expected @FILE or env:",
        ],
        [
          ["--webhook-header", "A: T0K3N", ...url],
          "Cannot use --webhook-header: expected NAME=@FILE",
        ],
        [["--webhook", "ftp://T0K3N"], "expected a URL that starts with http: or https:, or @FILE"],
        [["--webhook", "@http://u:T0K3N@h/T0K3N"], "there is no such file"],
        [["--webhook", `@${folder}/none`], 'none": there is no such file'],
        [
          ["--webhook", "env:T0"],
          'Cannot read the environment variable "T0": the permission is missing; use',
        ],
        [["--webhook-format", "teams", ...url], "expected json, discord, slack, ntfy"],
        [
          ["--webhook-format", "ntfy", "--webhook", "http://127.0.0.1/a/T0K3N"],
          "the URL of a topic",
        ],
        [
          ["--webhook-template", template, "--webhook-format", "slack", ...url],
          'there is no placeholder "{nmae}"; known are {message}',
        ],
        [["--webhook-template", template, ...url], "it must be a JSON document"],
        [["--webhook-events", "offlin", ...url], "did you mean offline?"],
        [["--webhook-events", ",", ...url], "expected some of online, offline"],
        [["--webhook-events", "online"], "Cannot use --webhook-events without --webhook"],
        [["--webhook-format", "slack"], "Cannot use --webhook-format without --webhook"],
        [["--webhook-header", "A=@t"], "Cannot use --webhook-header without --webhook"],
        [["--webhook-template", template], "Cannot use --webhook-template without --webhook"],
      ] as const
    ) {
      const { code, stderr } = await run(["watch", "127.0.0.1:1", ...args]);
      assertEquals(code, 2, stderr);
      assertStringIncludes(stderr, message);
      assertEquals(stderr.trim().split("\n").length, 1, stderr);
      assert(!stderr.includes("T0K3N"), stderr);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a webhook with names of players alone does not send what waits of forgotten servers and of other kinds", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using receiver = receive();
    receiver.up();
    const outbox = `${folder}/outbox`;
    {
      const { database } = await openOutboxFile(outbox);
      await using _database = database;
      for (const [port, event] of [[1, "players"], [2, "players"], [2, "opted_out"]] as const) {
        const id = `${event}:${port}`;
        const names = event === "players" ? { players_online: [1, 2] } : {};
        const waiting = {
          ...{ id, event, at: 1, host: "127.0.0.1", port, requested_as: null },
          ...{ scan_id: watchId(1), name: null, ...names },
        };
        await database.run("insert into outbox (id, event) values (?, ?)", [
          ...[id, JSON.stringify(waiting)],
        ]);
      }
    }
    const path = `${folder}/servers.db`;
    {
      await using database = openSqlite(path);
      await createTables(database);
      await writeTombstones(database, [forgettable(record(1))], Date.now());
    }
    const setup = { receiver: newReceiver("json", receiver.url), headers: {}, secret: undefined };
    const hook = await openWebhook({ ...setup, events: ["players"], outbox }, {
      ...{ scanId: watchId(1), locations: [], shown: (one: ServerRecord) => one },
      openFirstAgain: () => Promise.resolve(openSqlite(path)),
    }, (line) => assertEquals(line, undefined));
    await hook.idle();
    await hook.close();
    assertEquals([receiver.ids, hook.recovered, hook.waiting], [["players:2"], 2, 0]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
