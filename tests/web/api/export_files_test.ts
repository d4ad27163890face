/** Exports of src/web/api/export_files.ts over HTTP, to clients that stop reading. */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../src/net/clock.ts";
import { type DashboardData, DataError } from "../../../src/web/queries/dashboard_data.ts";
import { MAX_EXPORTS } from "../../../src/web/api/export_files.ts";
import { serveDashboard } from "../../../src/web/http/serve_dashboard.ts";
import { fakeData, listedServer } from "../fake_data.ts";

/** Serves data on loopback. */
function serve(data: DashboardData) {
  const caller = { program: "blocksweep", location: "servers.db" };
  const site = { data, database: "servers.db", hasGeoip: false, attributions: [], caller };
  return serveDashboard({
    ...{ site, hostname: "127.0.0.1", port: 0, allowedHosts: [], token: undefined },
    ...{ status: () => Promise.resolve([]), clock: systemClock },
    report: (error) => {
      throw error;
    },
  });
}

/** Polls sockets until a condition is met. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !await holds(); looks++) {
    assert(looks < 5000, "it never holds");
    await systemClock.pollSockets();
  }
}

Deno.test("an endless export to clients that do not read stops reading the database, and ends with them", async () => {
  const servers = Array.from({ length: 500 }, (_, i) => listedServer(i + 1));
  let reads = 0;
  const next = { direction: "after", position: [1, 1, 1] } as const;
  const data = fakeData({
    servers: () => {
      reads++;
      return Promise.resolve({
        servers,
        previous: null,
        next,
        total: null,
        hidden: null,
        others: {},
      });
    },
  });
  await using served = serve(data);
  const open = () => fetch(`http://127.0.0.1:${served.port}/servers.ndjson`);
  const together = await Promise.all(Array.from({ length: 2 * MAX_EXPORTS }, open));
  const [exports, refused] = [200, 503].map((code) =>
    together.filter(({ status }) => status === code)
  );
  assertEquals([exports.length, refused.length], [MAX_EXPORTS, MAX_EXPORTS]);
  for (const { body } of refused) await body!.cancel();
  let last = -1;
  await until(async () => { // until no page was read during 100 polls of the sockets
    if (reads === last) return true;
    last = reads;
    for (let i = 0; i < 100; i++) await systemClock.pollSockets();
    return false;
  });
  for (const { body } of exports) await body!.cancel();
  await until(async () => {
    const { status, body } = await open();
    await body!.cancel();
    return status === 200;
  });
});

Deno.test("if the database fails, an export ends before the end of its body", async () => {
  let reads = 0;
  const { servers } = fakeData({}, 1200);
  const data = fakeData({
    servers: (query) =>
      ++reads < 3 ? servers(query) : Promise.reject(new DataError("gone", "It was removed.")),
  });
  await using served = serve(data);
  const response = await fetch(`http://127.0.0.1:${served.port}/servers.csv`);
  assertEquals(response.status, 200);
  const isCut = await response.text().then(() => false, () => true);
  assert(isCut, "the client does not notice that rows are missing");
});
