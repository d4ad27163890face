/**
 * What everybody may request from the status API, and what stays closed. Covers
 * src/web/status/status_routes.ts, src/web/status/default_icon.ts and src/web/http/public_answer.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { DataError } from "../../../src/web/queries/dashboard_data.ts";
import { isSmallPng } from "../../../src/web/data/icons.ts";
import { statusRoutes } from "../../../src/web/status/status_routes.ts";
import { DEFAULT_ICON } from "../../../src/web/status/default_icon.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";
import { fakeData, listedServer } from "../fake_data.ts";
import { clientOf, type ClientOptions } from "../http/client.ts";

const HOST = "10.0.0.1:25565";
const PATHS = statusRoutes({ hasNames: false, clock: new ManualClock() })
  .map(({ path }) => path.replace("{address}", HOST));
const TOKEN = "0123456789abcdef0123456789abcdef";

/** A dashboard with the status API. */
const open = (more: ClientOptions = {}) => clientOf({ statusApi: { hasNames: false }, ...more });

Deno.test("without the option, no route of the status API exists", async () => {
  const get = clientOf();
  for (const path of PATHS) {
    const { status, headers } = await get(`GET ${path}`);
    assertEquals([status, headers["access-control-allow-origin"]], [404, undefined], path);
  }
});

/** Headers of clients that the dashboard refuses elsewhere. */
const CLIENTS: readonly Readonly<Record<string, string>>[] = [
  {},
  { host: "status.example.org" },
  { origin: "https://other.example", "sec-fetch-site": "cross-site" },
];

Deno.test("everybody may read: other sites, hosts and programs without a User-Agent or the token", async () => {
  assertEquals(PATHS.length, 17);
  const get = open({ token: TOKEN });
  for (const path of PATHS) {
    for (const given of CLIENTS) {
      const { status, headers, text } = await get(`GET ${path}`, given);
      assertEquals(status, 200, `${path}: ${text}`);
      assertEquals(headers["access-control-allow-origin"], "*");
      assertEquals(headers["cross-origin-resource-policy"], "cross-origin");
      assertEquals(headers["cache-control"], "public, max-age=60");
      assertEquals(headers["x-content-type-options"], "nosniff");
      assert(headers.etag.length > 10);
      const { bytes: _, ...head } = await get(`HEAD ${path}`, given); // the server omits the body
      assertEquals([head.status, head.headers], [200, headers]);
    }
  }
});

Deno.test("an ETag saves the body while the answer is the same", async () => {
  let players = 1;
  const status = () =>
    Promise.resolve({ server: listedServer(1, { players_online: players }), icon: null });
  const get = open({ data: fakeData({ status }) });
  for (const path of ["/3/10.0.0.1", "/v2/status/java/10.0.0.1"]) {
    const { headers: { etag } } = await get(`GET ${path}`);
    const again = await get(`GET ${path}`, { "if-none-match": etag });
    assertEquals([again.status, again.bytes.length], [304, 0]);
    assertEquals(again.headers["access-control-allow-origin"], "*");
    players++;
    assertEquals((await get(`GET ${path}`, { "if-none-match": etag })).status, 200);
  }
});

Deno.test("a preflight is answered; other methods are not", async () => {
  const get = open();
  const { status, headers, text } = await get(`OPTIONS /3/${HOST}`, {
    ...{ origin: "https://a.example", "access-control-request-headers": "x-any" },
  });
  assertEquals([status, text], [200, ""]);
  assertEquals(headers["access-control-allow-methods"], "GET, HEAD, OPTIONS");
  assertEquals(headers["access-control-allow-headers"], "*");
  for (const method of ["POST", "PUT", "DELETE", "TRACE"]) {
    const refused = await get(`${method} /3/${HOST}`);
    assertEquals([refused.status, refused.headers.allow], [405, "GET, HEAD, OPTIONS"]);
  }
  assertEquals((await get(`GET /3/${HOST}?${"a".repeat(4097)}`)).status, 400);
});

Deno.test("every other route stays as closed as without the status API", async () => {
  const requests: readonly (readonly [string, Record<string, string>])[] = [
    ["GET /servers", { host: "status.example.org" }],
    ["GET /api/servers", { "sec-fetch-site": "cross-site" }],
    ["GET /servers.csv", { "sec-fetch-site": "cross-site" }],
    ["OPTIONS /api/servers", { origin: "https://a.example" }],
    ["GET /3", {}],
    ["GET /3/a/b", {}],
    ["GET /v2/status/java", {}],
    ["GET /V2/icon/a.example", {}],
    ["GET //3/a.example", {}],
    ["GET /icons/aa.png", {}],
    ["GET /api/servers", {}],
    ["GET /", {}],
  ];
  for (const token of [undefined, TOKEN]) {
    const [closed, status] = [clientOf({ token }), open({ token })];
    for (const [line, headers] of requests) {
      const [one, other] = [await closed(line, headers), await status(line, headers)];
      assertEquals(other, one, line);
      assertEquals(other.headers["access-control-allow-origin"], undefined);
    }
  }
});

Deno.test("an address that is not valid gets what each service answers", async () => {
  const get = open();
  for (const address of ["", "a..b", "192.0.2.256", "%00", "a%20b", "%3Cscript%3E", "[::1]:0"]) {
    for (const path of ["/v2/status/java/", "/v2/status/bedrock/", "/v2/icon/"]) {
      const { status, headers, text } = await get(`GET ${path}${address}`);
      assertEquals([status, text], [400, "Invalid address value"], address);
      assertEquals(headers["content-type"], "text/plain; charset=utf-8");
      assertEquals(headers["access-control-allow-origin"], "*");
    }
    const { online, ip } = JSON.parse((await get(`GET /3/${address}`)).text);
    assertEquals([online, ip], [false, "127.0.0.1"]);
    assertEquals((await get(`GET /simple/${address}`)).status, 404);
    assertEquals((await get(`GET /icon/${address}`)).bytes, DEFAULT_ICON);
  }
});

Deno.test("/simple has no body: 200 online, 404 offline or unknown", async () => {
  const online = open();
  const offline = open({
    data: fakeData({
      status: () => Promise.resolve({ server: listedServer(1, { online: false }), icon: null }),
    }),
  });
  for (const path of ["/simple/10.0.0.1", "/bedrock/simple/10.0.0.1:25565"]) {
    const { status, text } = await online(`GET ${path}`);
    assertEquals([status, text], [200, ""]);
    const no = await offline(`GET ${path}`);
    assertEquals([no.status, no.text, no.headers["cache-control"]], [
      404,
      "",
      "public, max-age=60",
    ]);
  }
  assertEquals((await online("GET /simple/192.0.2.9")).status, 404);
});

Deno.test("icons are those of servers that are online, else the usual one of 64 × 64 pixels", async () => {
  assert(isSmallPng(DEFAULT_ICON));
  const view = new DataView(DEFAULT_ICON.buffer);
  assertEquals([view.getUint32(16), view.getUint32(20)], [64, 64]);
  const icon = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 1);
  const of = (online: boolean) =>
    open({
      data: fakeData({
        status: () => Promise.resolve({ server: listedServer(1, { online }), icon }),
      }),
    });
  for (const path of ["/icon/10.0.0.1", "/v2/icon/10.0.0.1"]) {
    const { bytes, headers } = await of(true)(`GET ${path}`);
    assertEquals([bytes, headers["content-type"]], [icon, "image/png"]);
    assertEquals((await of(false)(`GET ${path}`)).bytes, DEFAULT_ICON);
  }
  assertEquals((await open()("GET /v2/icon")).bytes, DEFAULT_ICON);
});

Deno.test("mcstatus.io has the state of the cache in headers", async () => {
  const get = open();
  const hit = (await get(`GET /v2/status/java/${HOST}`)).headers;
  assertEquals([hit["x-cache-hit"], hit["x-cache-time-remaining"]], ["true", "60"]);
  const miss = (await get("GET /v2/status/java/192.0.2.1")).headers;
  assertEquals([miss["x-cache-hit"], miss["x-cache-time-remaining"]], ["false", undefined]);
});

Deno.test("a database that is away or slow is an error within a second, without a stack", async () => {
  const locked = open({
    data: fakeData({ status: () => Promise.reject(new DataError("locked", "secret.db")) }),
  });
  const { status, headers, text } = await locked(`GET /3/${HOST}`);
  assertEquals([status, text, headers["retry-after"]], [503, "Service Unavailable", "5"]);
  assertEquals([headers["access-control-allow-origin"], headers["cache-control"]], [
    "*",
    "no-store",
  ]);

  const clock = new ManualClock();
  const slow = open({ clock, data: fakeData({ status: () => new Promise(() => {}) }) });
  const late = slow(`GET /v2/status/java/${HOST}`);
  await clock.yieldToEvents();
  assertEquals(clock.timers, 1);
  clock.move(999);
  assertEquals((await late).status, 503);

  const defects: unknown[] = [];
  const broken = open({
    report: (error) => defects.push(error),
    data: fakeData({ status: () => Promise.reject(new TypeError("a defect in secret.ts")) }),
  });
  const failed = await broken(`GET /3/${HOST}`);
  assertEquals([failed.status, failed.text, defects.length], [500, "Internal Server Error", 1]);
});

Deno.test("10,000 addresses leave no timers and no answers behind", async () => {
  const clock = new ManualClock();
  const asked = new Set<string>();
  const status = ({ host }: { readonly host: string }) => {
    asked.add(host);
    return Promise.resolve(undefined);
  };
  const get = open({ clock, data: fakeData({ status }) });
  for (let i = 0; i < 10_000; i++) await get(`GET /3/10.9.${i >> 8}.${i & 255}`);
  assertEquals([asked.size, clock.timers], [10_000, 0]);
  await get("GET /3/10.9.0.0"); // nothing is remembered
  assertEquals(asked.size, 10_000);
});
