/**
 * The dashboard and commands with the role of PostgreSQL for readers, which docs/database.md
 * describes. Covers src/web/data/database_access.ts and src/web/data/server_details.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { type DashboardData, DataError } from "../../../src/web/queries/dashboard_data.ts";
import { openDashboardData } from "../../../src/web/data/open_dashboard_data.ts";
import { run } from "../../cli/program.ts";
import { connect, postgresTest } from "../../store/databases.ts";
import { watchId } from "../../store/records.ts";
import { withRoles } from "../../store/roles.ts";
import { ROUTES } from "../../../src/web/api/routes.ts";
import { clientOf } from "../http/client.ts";
import { fillServers } from "../oracle.ts";

const ENVIRONMENT = { resolve: (path: string) => path, password: () => Promise.resolve(undefined) };
const unexpected = (line: string) => {
  throw new Error(line);
};

/**
 * Writes servers, and a watch that has polled the first two for an hour. The address of the second
 * opted out after half of it.
 */
async function fillWatched(database: Database): Promise<void> {
  await fillServers(database);
  const at = database.now() - 3_600_000;
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id: watchId(1), kind: "watch", at, config: "{}" });
  const [{ scan }] = await database.rows("select id as scan from scans where kind = 'watch'");
  await database.transaction(async () => {
    await writeObservations(
      database,
      [1, 2].map((server) => [server, at, scan, 1, 5, null, null, null, 1]),
    );
    await writeSpans(database, watchId(1), [{ startedAt: at, endedAt: at + 3_600_000 }]);
    await database.run(
      "insert into opt_outs select address, now() - interval '30 minutes' from servers where id = 2",
      [],
    );
  });
}

/** Waits until the servers are counted. */
async function counted(data: DashboardData): Promise<void> {
  while (
    !await data.facets({}).then(() => true, (error) => {
      if (!(error instanceof DataError)) throw error;
    })
  );
}

/** The URL of a database with another role, which gets a password. */
async function asRole(owner: Database, url: string, role: string): Promise<string> {
  await owner.script(`alter role ${role} password 'secret'`);
  return Object.assign(new URL(url), { username: role, password: "secret" }).href;
}

postgresTest(
  "serve works as the role for readers, and says which part of a page it may not read",
  async (url) => {
    await using owner = await connect(url);
    await createTables(owner);
    await fillWatched(owner);
    await withRoles(owner, async ({ reader }) => {
      const location = parseDatabaseLocation(await asRole(owner, url, reader))!;
      await using data = await openDashboardData(location, ENVIRONMENT, unexpected);
      await counted(data);
      const get = clientOf({ data, statusApi: { hasNames: true } });
      const [{ key }] = await owner.rows("select key from servers where id = 1");
      const status = await get(`GET /3/${key}`);
      assertEquals([status.status, JSON.parse(status.text).debug.cachehit], [200, true]);
      const [scan] = await data.scans();
      const paths = ROUTES.map(({ path }) => path).filter((path) => path !== "/api/live");
      for (const path of [...paths, "/servers?text=sky", "/map?layer=scanned"]) {
        const line = path.replace("{scan_id}", scan.scan_id).replace("{id}", "1");
        const { status, text } = await get(`GET ${line}`);
        const expected = path === "/icons/{hash}.png" ? 404 : 200;
        assertEquals(status, expected, `${line}: ${text}`);
      }
      const { text } = await get("GET /servers/1");
      assertStringIncludes(text, "The role of the database may not read the table replies.");
      const [first, second] = await Promise.all(
        [1, 2].map(async (id) => JSON.parse((await get(`GET /api/servers/${id}`)).text)),
      );
      assertEquals(first.replies, null);
      assertEquals(Math.round(first.uptime["7d"].watched_s / 60), 60);
      assertEquals(Math.round(second.uptime["7d"].watched_s / 60), 30);
      await owner.script(`revoke select on events from ${reader}`);
      const denied = await get("GET /api/events");
      assertEquals([denied.status, JSON.parse(denied.text).error], [
        503,
        "The role of the database may not read all that this page shows: " +
        "permission denied for table events.",
      ]);
      assertEquals((await get("GET /servers")).status, 200);
    });
  },
);

postgresTest("the commands that read a database work as the role for readers", async (url) => {
  await using owner = await connect(url);
  await createTables(owner);
  await fillWatched(owner);
  await withRoles(owner, async ({ reader }) => {
    const location = await asRole(owner, url, reader);
    const [{ key }] = await owner.rows("select key from servers where id = 1");
    for (
      const args of [
        ["servers", location],
        ["history", location, String(key)],
        ["history", location, "--events"],
        ["scans", location],
        ["export", location, "--format", "ndjson"],
        ["report", location, "-o", "/dev/stdout"],
      ]
    ) {
      const { code, stdout, stderr } = await run(args, { permissions: ["--allow-all"] });
      assertEquals(code, 0, `${args[0]}: ${stderr}`);
      assert(stdout.length > 0 || args.includes("--events"), args.join(" "));
    }
  });
});
