/** Tests of src/cli/commands/serve/, with the program and a SQLite database. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { StoredScan } from "../../../src/store/scans/scan_list.ts";
import { Store } from "../../../src/store/store.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { readStatusFiles } from "../../../src/cli/commands/serve/status_files.ts";
import { inFolder, put } from "../../app/resume/stopped_programs.ts";
import { mmdbBytes } from "../../app/geoip/mmdb_writer.ts";
import { record } from "../../store/records.ts";
import { fillServers } from "../../web/oracle.ts";
import { finish, PrintedText, run, start } from "../program.ts";
import { freePort } from "../../fakes/free_port.ts";

/** The folders of its code, and of its tables. */
const SRC = ["src", "data"].map((name) => new URL(`../../../${name}`, import.meta.url).pathname)
  .join(",");
const TOKEN = "0123456789abcdef0123456789abcdef";

/** A database with servers. */
async function fill(path: string): Promise<string> {
  await using database = openSqlite(path);
  await createTables(database);
  await fillServers(database);
  return path;
}

/** Runs the program with the permissions of the documentation, and ends it as Ctrl-C does. */
async function withServed(
  database: string,
  more: readonly string[],
  test: (url: string) => Promise<void>,
  descriptors?: number,
): Promise<void> {
  const port = freePort();
  const files = more.filter((word) => word.startsWith("/"));
  const permissions = [
    `--allow-net=127.0.0.1:${port}`,
    `--allow-read=${[database, SRC, ...files].join(",")}`,
  ];
  const child = start(["serve", database, "--port", `${port}`, ...more], {
    permissions,
    descriptors,
  });
  const printed = new PrintedText(child, child.stdout);
  try {
    await printed.until("Ctrl-C");
    assertStringIncludes(printed.text, `http://127.0.0.1:${port}/ `);
    await test(`http://127.0.0.1:${port}`);
  } finally {
    child.kill("SIGINT");
    const [{ code }, errors] = await Promise.all([
      child.status,
      new Response(child.stderr).text(),
      printed.rest(),
    ]);
    assertEquals([code, errors], [130, ""]);
  }
}

Deno.test("with the least permissions, the command serves every page, and ends by Ctrl-C", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    await withServed(database, [], async (url) => {
      for (
        const path of [
          ...["/", "/servers", "/servers?text=sky", "/servers?software=paper&sort=name", "/map"],
          ...["/servers/1", "/breakdown", "/scans", "/events", "/servers.csv", "/servers.ndjson"],
        ]
      ) {
        const response = await fetch(url + path);
        assertEquals(response.status, 200, `${path}: ${await response.clone().text()}`);
        assert((await response.text()).length > 100);
      }
      const csv = await (await fetch(`${url}/servers.csv?edition=java`)).text();
      const ndjson = await (await fetch(`${url}/servers.ndjson?edition=java`)).text();
      const rows = ndjson.trim().split("\n").map((line) => JSON.parse(line));
      assertEquals(csv.split("\r\n").length, rows.length + 2);
      assert(rows.length > 40 && rows.every(({ edition }) => edition === "java"));
    });
  }));

Deno.test("with --status-api, everybody may read the status of servers, with their names only with --names", () =>
  inFolder(async (folder) => {
    const database = `${folder}/servers.db`;
    {
      await using opened = openSqlite(database);
      await createTables(opened);
      const players = ["Ann"];
      await new Store(opened, () => Promise.resolve()).write([
        record(25565, { host: "10.0.0.1", edition: "java", protocols: ["slp"], players }),
      ]);
    }
    for (const names of [[], ["--names"]]) {
      await withServed(database, ["--status-api", "database", ...names], async (url) => {
        const response = await fetch(`${url}/3/10.0.0.1`, { headers: { "user-agent": "" } });
        assertEquals(response.headers.get("access-control-allow-origin"), "*");
        const { online, players } = await response.json();
        assertEquals([online, players.list !== undefined], [true, names.length > 0]);
      });
    }
    for (
      const [args, wanted] of [
        [["--names"], "Cannot use --names without --status-api"],
        [["--status-api", "some"], 'Cannot use --status-api "some": expected'],
        [["--status-api", "open"], "Cannot use --status-api open without --i-have-permission"],
      ] as const
    ) {
      const { code, stderr } = await run(["serve", database, ...args]);
      assertEquals(code, 2);
      assertStringIncludes(stderr, wanted);
    }
  }));

Deno.test("with --geoip, pages and the API show countries and operators, and the attribution", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    const record = { country_code: "XK", asn: "AS64500", as_name: "<b>Example" };
    const form = { bits: 24, version: 4, metadata: { database_type: "DBIP-Lite" } } as const;
    const file = `${folder}/places.mmdb`;
    await Deno.writeFile(file, mmdbBytes([{ address: 0, prefix: 1, record }], form));
    await withServed(database, ["--geoip", file], async (url) => {
      const page = await (await fetch(`${url}/servers`)).text();
      assertStringIncludes(
        page,
        'IP Geolocation by DB-IP: <a href="https://db-ip.com" rel="noreferrer">db-ip.com</a>',
      );
      assertStringIncludes(page, '<abbr class="badge">XK</abbr>');
      assertStringIncludes(page, "&lt;b&gt;Example");
      const { servers } = await (await fetch(`${url}/api/servers?country=XK&limit=500`)).json();
      const all = await (await fetch(`${url}/api/servers?network=0.0.0.0/1&limit=500`)).json();
      assert(servers.length > 0 && servers.length === all.servers.length);
      assertEquals(servers[0].asn, 64_500);
    });
  }));

Deno.test("with a token, pages need it", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    await put(`${folder}/token`, TOKEN);
    await Deno.chmod(`${folder}/token`, 0o600);
    await withServed(database, ["--token-file", `${folder}/token`], async (url) => {
      const status = async (headers: HeadersInit) => {
        const response = await fetch(`${url}/scans`, { headers });
        await response.body?.cancel();
        return response.status;
      };
      assertEquals(await status({}), 401);
      assertEquals(await status({ authorization: `Bearer ${TOKEN}` }), 200);
    });
  }));

/** The first response to requests for a page; those whose connection the server closes are repeated. */
async function served(url: string): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

Deno.test("with few descriptors, idle connections do not stop the command, nor keep it from its database", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    await withServed(database, [], async (url) => {
      const port = Number(new URL(url).port);
      const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
      const idle = await Promise.all(Array.from({ length: 230 }, connect));
      for (const path of ["/servers?text=sky", "/servers/1", "/servers.csv"]) {
        const response = await served(url + path);
        assertEquals([response.status, (await response.text()).length > 100], [200, true], path);
      }
      for (const conn of idle) conn.close();
    }, 200);
  }));

/** Reads the states of `/api/live` until a scan that ran has finished. */
async function untilFinished(url: string): Promise<void> {
  const { body } = await fetch(`${url}/api/live`);
  let [text, id] = ["", undefined as string | undefined];
  for await (const part of body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    const events = text.split("\n\n");
    text = events.pop()!;
    for (const [, data] of events.flatMap((event) => [...event.matchAll(/^data: (.*)$/gm)])) {
      const scans: readonly StoredScan[] = JSON.parse(data).scans;
      id ??= scans.find(({ kind, state }) => kind === "sweep" && state === "running")?.scan_id;
      const ended = scans.find(({ scan_id, state }) => scan_id === id && state === "finished");
      if (ended !== undefined) return assertEquals(ended.position, ended.total);
    }
  }
  throw new Error("the stream has ended");
}

Deno.test("a scan into the served database is followed to its end", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    await withServed(database, [], async (url) => {
      const finished = untilFinished(url);
      const scan = start([
        ...["scan", "127.116.0.0/23", "-p", "25565", "--protocol", "slp", "--rate", "200", "-q"],
        ...["--cooldown", "100ms", "--retries", "0", "-o", database],
      ]);
      const { code, stderr } = await finish(scan);
      assertEquals(code, 0, stderr);
      await finished;
    });
  }));

Deno.test("while the database is gone, pages say so, and another one in its place is read", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    await withServed(database, [], async (url) => {
      const get = async (path: string) => {
        const response = await fetch(url + path);
        return { status: response.status, text: await response.text() };
      };
      await Deno.rename(database, `${folder}/other.db`);
      const page = await get("/servers/1");
      assertEquals(page.status, 503);
      assert(page.text.startsWith("<!doctype html>"), page.text);
      const { error, wanted } = JSON.parse((await get("/api/servers")).text);
      assert(error.length > 10 && wanted === null);
      await Deno.rename(`${folder}/other.db`, database);
      assertEquals((await get("/servers/1")).status, 200);
      await Deno.remove(database);
      {
        await using empty = openSqlite(database);
        await createTables(empty);
      }
      assertEquals((await get("/servers/1")).status, 404);
      assertEquals((await get("/servers")).status, 200);
    });
  }));

Deno.test("with --log-format json the address of the dashboard is a message, and standard output is empty", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    const [port, json] = [freePort(), ["--log-format", "json"]];
    const child = start(["serve", database, "--port", `${port}`, ...json], {
      permissions: [`--allow-net=127.0.0.1:${port}`, `--allow-read=${database},${SRC}`],
    });
    const printed = new PrintedText(child, child.stderr);
    await printed.until("Ctrl-C to end");
    child.kill("SIGINT");
    const [text, stdout, { code }] = await Promise.all([
      printed.rest(),
      new Response(child.stdout).text(),
      child.status,
    ]);
    const { level, message, url } = JSON.parse(text);
    const address = `http://127.0.0.1:${port}/`;
    assertEquals([code, stdout, level, url], [130, "", "info", address]);
    assertEquals(message, `servers.db: ${address} (Ctrl-C to end)`);
  }));

Deno.test("what cannot be served is exit code 2 before the start", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    const [open, weak] = [`${folder}/open`, `${folder}/weak`];
    await put(open, TOKEN);
    await Deno.chmod(open, 0o644);
    await put(weak, "password");
    await Deno.chmod(weak, 0o600);
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    for (
      const [args, message] of [
        [[], "name one, for example servers.db"],
        [[`${folder}/missing.db`], "there is no such file"],
        [["rows.csv"], "name a database first"],
        [[database, "--port", `${listener.addr.port}`], "Cannot serve the dashboard on 127.0.0.1:"],
        [[database, "--token-file", open], "other users can read the file (chmod 600)"],
        [[database, "--token-file", weak], "at least 128 bits"],
        [[database, "--token-file", `${folder}/none`], "there is no such file"],
        [[database, "--host", "0.0.0.0"], "on 0.0.0.0 without a token"],
        [[database, "--host", "::"], "on :: without a token"],
        [[database, "--host", "localhost:1"], "expected an address"],
        [[database, "--port", "65536"], "a whole number from 0 to 65535"],
        [[database, "--allow-host", "a.example:80"], "a host name without a port"],
      ] as const
    ) {
      const { code, stdout, stderr } = await run(["serve", ...args]);
      assertEquals([code, stdout], [2, ""], stderr);
      assertStringIncludes(stderr, message);
      assert(!stderr.includes(TOKEN) && !stderr.includes("password"));
    }
  }));

Deno.test("a token is read from standard input", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    const options = { stdin: "password" };
    const { code, stderr } = await run(["serve", database, "--token-file", "-"], options);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "at least 128 bits");
  }));

Deno.test("a missing permission names its flag", () =>
  inFolder(async (folder) => {
    const database = await fill(`${folder}/servers.db`);
    const permissions = [`--allow-read=${folder},${SRC}`];
    const { code, stderr } = await finish(start(["serve", database], { permissions }));
    assertEquals(code, 2);
    assertStringIncludes(stderr, "--allow-net");
  }));

Deno.test("status files that are missing, large or no JSON have no state", () =>
  inFolder(async (folder) => {
    const write = async (name: string, text: string) => {
      await put(`${folder}/${name}`, text);
      return `${folder}/${name}`;
    };
    const paths = [
      await write("good.json", '{"sent":5}'),
      await write("list.json", "[1]"),
      await write("broken.json", '{"sent":'),
      await write("large.json", `{"a":"${"b".repeat(70_000)}"}`),
      `${folder}/missing.json`,
      folder,
    ];
    const files = await readStatusFiles(paths);
    assertEquals(files.map(({ state }) => state), [{ sent: 5 }, null, null, null, null, null]);
    assertEquals(files[0].file, "good.json");
  }));
