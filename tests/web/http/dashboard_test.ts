/**
 * Tests of src/web/http/, src/web/api/ and src/web/queries/ together: what a dashboard answers, and
 * what it refuses.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DataError } from "../../../src/web/queries/dashboard_data.ts";
import { ROUTES } from "../../../src/web/api/routes.ts";
import { CONTENT_SECURITY_POLICY } from "../../../src/web/api/answer.ts";
import { serveDashboard } from "../../../src/web/http/serve_dashboard.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { fakeData, ICON, SCAN_ID } from "../fake_data.ts";
import { clientOf } from "./client.ts";

/** A path of each route. */
const PATHS = ROUTES.map(({ path }) =>
  path.replace("{id}", "1").replace("{scan_id}", SCAN_ID).replace("{hash}", ICON)
).filter((path) => path !== "/api/live");

Deno.test("every route answers GET, and HEAD alike, with the headers of security", async () => {
  const get = clientOf();
  for (const path of PATHS) {
    const { status, headers, text } = await get(`GET ${path}`);
    assertEquals(status, 200, `${path}: ${text}`);
    assertEquals(headers["content-security-policy"], CONTENT_SECURITY_POLICY);
    assertEquals(headers["x-content-type-options"], "nosniff");
    assertEquals(headers["referrer-policy"], "no-referrer");
    assertEquals(headers["cross-origin-resource-policy"], "same-origin");
    assertEquals(headers["cross-origin-opener-policy"], "same-origin");
    assert(
      !("strict-transport-security" in headers) && !("access-control-allow-origin" in headers),
    );
    const { bytes: _, ...head } = await get(`HEAD ${path}`); // the server omits the body
    assertEquals([head.status, head.headers], [200, headers]);
  }
});

Deno.test("only the host names of the dashboard are served, also on loopback", async () => {
  const get = clientOf({ access: { allowedHosts: ["dash.example.org"] } });
  const status = async (host: string) => (await get("GET /scans", { host })).status;
  for (
    const host of [
      ...["localhost", "LOCALHOST:8420", "127.0.0.1:8420", "[::1]:8420", "dash.example.org"],
      ...["Dash.Example.org:443", "localhost.:1"],
    ]
  ) assertEquals(await status(host), 200, host);
  for (
    const host of [
      ...["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""],
      ...["a.dash.example.org", "0.0.0.0", "[::]", "localhost.example"],
    ]
  ) assertEquals(await status(host), 421, host);
  const absolute = await get("GET http://evil.example/scans", { host: "localhost" });
  assertEquals(absolute.status, 421);
});

Deno.test("a dashboard on another address is served under that address", async () => {
  const get = clientOf({ access: { hostname: "192.0.2.1" } });
  assertEquals((await get("GET /scans", { host: "192.0.2.1:8420" })).status, 200);
  assertEquals((await get("GET /scans", { host: "192.0.2.2:8420" })).status, 421);
});

Deno.test("a dashboard on all addresses is served under the address that the client uses", async () => {
  for (const hostname of ["0.0.0.0", "::"]) {
    const get = clientOf({ access: { hostname } });
    const status = async (host: string, local: string) =>
      (await get("GET /scans", { host }, "", local)).status;
    assertEquals(await status("192.0.2.1:8420", "192.0.2.1"), 200);
    assertEquals(await status("192.0.2.1:8420", "::ffff:192.0.2.1"), 200);
    assertEquals(await status("[2001:DB8::0:1]:8420", "2001:db8::1"), 200);
    assertEquals(await status("192.0.2.2:8420", "192.0.2.1"), 421);
    assertEquals(await status("evil.example", "192.0.2.1"), 421);
  }
});

const DATA_PATHS = ["/api/scans", "/servers.csv", "/servers.ndjson"];

Deno.test("nothing but GET and HEAD is served, and pages of other sites cannot use the API or exports", async () => {
  const get = clientOf();
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"]) {
    const { status, headers } = await get(`${method} /servers`);
    assertEquals([status, headers.allow], [405, "GET, HEAD"], method);
  }
  assertEquals((await get("POST /token")).status, 405); // no token, no form
  const site = async (path: string, site: string) =>
    (await get(`GET ${path}`, { "sec-fetch-site": site })).status;
  for (const other of ["cross-site", "same-site", "unknown"]) {
    for (const path of DATA_PATHS) assertEquals(await site(path, other), 403, path);
    assertEquals(await site("/scans", other), 200); // a link of another site
  }
  for (const own of ["same-origin", "none"]) {
    for (const path of DATA_PATHS) assert(await site(path, own) !== 403, path);
  }
});

Deno.test("at most five servers are compared, by their numbers and names", async () => {
  const get = clientOf();
  const named = (names: readonly (number | string)[]) =>
    get(`GET /compare?${names.map((name) => `server=${name}`).join("&")}`);
  const { status, text } = await named([1, 2, 3, "10.0.0.4:25565", "10.0.0.9:1"]);
  assertEquals([status, text.match(/>Remove</g)?.length], [200, 4 + 1]);
  assertStringIncludes(text, "Not in the database: 10.0.0.9:1");
  assertEquals((await named([1, "10.0.0.1:25565"])).text.match(/>Remove</g)?.length, 1 + 1);
  const many = await named([1, 2, 3, 4, 5, 6]);
  assertEquals(many.status, 400);
  assertStringIncludes(many.text, "Cannot use server: it has 6 values");
});

Deno.test("a host without a port is compared if it has one server, or else its first servers are listed", async () => {
  const one = await clientOf()("GET /compare?server=10.0.0.4");
  assertStringIncludes(one.text, 'aria-label="Remove Server 4"');
  assertEquals(one.text.includes("Not in the database"), false);
  const named = Array.from({ length: 7 }, (_, i) => ({ id: 10 + i, key: `[::1]:${i}`, port: i }));
  const get = clientOf({ data: fakeData({ named: () => Promise.resolve(named) }) });
  const { status, text } = await get("GET /compare?server=1&server=%3A%3A1&from=1000&to=2000");
  assertEquals([status, text.match(/>Remove</g)?.length], [200, 1 + 1]);
  assertStringIncludes(
    text.replace(/<[^>]*>/g, ""),
    "::1 has 7 servers. The first ones are [::1]:0",
  );
  const links = [...text.matchAll(/<a href="([^"]*)"><code>(.*?)<\/code>/g)];
  assertEquals(
    links.map(([, url, key]) => [url.replaceAll("&amp;", "&"), key]),
    named.slice(0, 5).map(({ id, key }) => [
      `/compare?server=1&server=${id}&from=1000&to=2000`,
      key,
    ]),
  );
});

Deno.test("wrong parameters get 400, and the answer names them", async () => {
  const get = clientOf();
  for (
    const [query, name] of [
      ["servers?limit=501", "limit"],
      ["api/servers?nothing=1", "nothing"],
      ["servers?q=sky+portt:1", "portt:1"],
      ["servers?q=players:5..1", "players:5..1"],
      ["api/servers?q=version:1.21..1.20", "version:1.21..1.20"],
      ["servers?q=players:5..+players:..1", "min_players"],
      ["servers?port=x", "port"],
      [`servers?text=${"a".repeat(101)}`, "text"],
      ["servers?sort=size", "sort"],
      ["events?before=1", "before"],
      ["events?before=8640000000000001-1-1", "before"],
      ["events?kind=nothing", "kind"],
      ["servers?flag=nothing", "flag"],
      ["servers?min_players=5&max_players=4", "min_players"],
      ["api/facets?min_players=5&max_players=4", "min_players"],
      ["map?min_players=5&max_players=4", "min_players"],
      ["events?server=..", "server"],
      ["events?from=2026-13-01", "from"],
      ["events?from=2026-02-31T00:00", "from=2026-02-31T00:00"],
      ["events?to=2025-02-29", "to=2025-02-29"],
      ["events?from=2000&to=1000", "from"],
      ["api/events?from=2026-01-02T00:00&to=2026-01-01", "from"],
      ["api/servers/1/events?from=2&to=1", "from"],
      ["map?prefix=10.0.0.0/9", "prefix"],
      ["map?prefix=10.0.0.1/8", "prefix"],
    ]
  ) {
    const page = await get(`GET /${query}`);
    assertEquals(page.status, 400, query);
    assertStringIncludes(page.text, name);
  }
  const long = await get(`GET /servers?text=${"%41".repeat(1400)}`);
  assertEquals(long.status, 400);
  assertStringIncludes(long.text, "4096 bytes");
});

Deno.test("pages ignore unknown parameters, and their URLs have no empty ones", async () => {
  const get = clientOf();
  assertEquals((await get("GET /servers?utm_source=x&port=1")).status, 200);
  for (
    const [query, location] of [
      ["servers?q=", "/servers"],
      ["servers?q=&sort=name&text=", "/servers?sort=name"],
      ["map?tag=a+b&network=", "/map?tag=a+b"],
    ]
  ) {
    const { status, headers } = await get(`GET /${query}`);
    assertEquals([status, headers.location], [303, location]);
  }
  assertEquals((await get("GET /api/servers?text=")).status, 200);
});

Deno.test("a search shows chips, a title and its words, and q has the same words in the API", async () => {
  const get = clientOf();
  const query = `q=${encodeURIComponent('version:1.20..1.21 mods:yes "sky block" players:>0')}`;
  const { status, text } = await get(`GET /servers?${query}`);
  assertEquals(status, 200);
  assertStringIncludes(
    text,
    "<title>Servers: “sky block”, version 1.20 to 1.21, with players, with mods · blocksweep</title>",
  );
  assertStringIncludes(
    text,
    'value="&quot;sky block&quot; version:1.20..1.21 players:&gt;0 mods:yes"',
  );
  assertStringIncludes(
    text,
    'href="/servers?text=sky+block&amp;min_players=1&amp;mods=yes"><span class="hidden">' +
      "Remove the filter</span><bdi>version 1.20 to 1.21</bdi>",
  );
  assertEquals((await get(`GET /api/servers?${query}`)).status, 200);
  const wrong = await get("GET /servers?q=sky+down:x");
  assertStringIncludes(wrong.text, 'value="sky down:x"');
});

Deno.test("paths outside the dashboard are not found", async () => {
  const get = clientOf();
  for (
    const path of [
      ...["/nothing", "/servers/", "/servers/0", "/servers/6", "/servers/1/x", "/scans/none"],
      ...["/assets/style.css", "/../deno.json", "/assets/../deno.json", "/..%2f..%2fetc%2fpasswd"],
      ...["/%2e%2e/deno.json", "//etc/passwd", "/icons/../x.png", `/icons/${"b".repeat(64)}.png`],
      ...["/servers/%ff", "/.git/config", "/servers.db", "/constructor", "/__proto__", "/api"],
    ]
  ) {
    const { status, text } = await get(`GET ${path}`);
    assert(status === 404 || status === 400, `${path}: ${status}`);
    assert(!text.includes("root:") && !text.includes('"tasks"'), path);
  }
});

Deno.test("a missing page is a page for people, and a JSON document for programs", async () => {
  const get = clientOf();
  for (const path of ["/nothing", "/servers/999", "/scans/none"]) {
    const page = await get(`GET ${path}`);
    assertEquals([page.status, page.headers["content-type"]], [404, "text/html; charset=utf-8"]);
    for (const link of ['href="/"', 'href="/servers"', 'href="/scans"']) {
      assertStringIncludes(page.text, `class="button" ${link}`);
    }
    const answer = await get(`GET /api${path}`, { accept: "text/html" });
    assertEquals([answer.status, answer.headers["content-type"]], [404, "application/json"]);
    assertEquals(Object.keys(JSON.parse(answer.text)), ["error", "wanted"]);
  }
  const inside = clientOf({ token: "0123456789abcdef0123456789abcdef" });
  const { status, text } = await inside("GET /nothing");
  assertEquals(status, 401);
  assert(!text.includes("servers.db"));
});

Deno.test("a database that cannot be read gets 503 with a time to try again", async () => {
  const gone = () => Promise.reject(new DataError("gone", "The file was removed."));
  const get = clientOf({ data: fakeData({ servers: gone, scans: gone }) });
  for (const path of ["/servers", "/servers.csv", "/scans"]) {
    const { status, headers, text } = await get(`GET ${path}`);
    assertEquals([status, headers["retry-after"]], [503, "5"]);
    assertStringIncludes(text, "The file was removed.");
  }
});

Deno.test("counts that take too long are left out of a page", async () => {
  const slow = () => Promise.reject(new DataError("slow", "It took more than 2 s."));
  const get = clientOf({ data: fakeData({ facets: slow }) });
  assertEquals((await get("GET /servers")).status, 200);
});

Deno.test("a defect gets 500 without its reason, and is reported", async () => {
  const reported: unknown[] = [];
  const scans = () => Promise.reject(new TypeError("secret detail"));
  const get = clientOf({ data: fakeData({ scans }), report: (error) => reported.push(error) });
  const { status, text } = await get("GET /scans");
  assertEquals([status, text.includes("secret detail"), reported.length], [500, false, 1]);
});

Deno.test("serveDashboard() serves several requests of a connection, and frees its port", async () => {
  const status = () => Promise.resolve([]);
  const caller = { program: "blocksweep", location: "servers.db" };
  const site = {
    ...{ data: fakeData(), database: "servers.db", caller, hasGeoip: false, attributions: [] },
  };
  const listening = { hostname: "127.0.0.1", allowedHosts: [], token: undefined };
  let port = 0;
  for (let round = 0; round < 2; round++) {
    await using served = serveDashboard({
      ...{ site, ...listening, port, status, clock: systemClock },
      report: (error) => {
        throw error;
      },
    });
    port = served.port;
    for (const path of ["/", "/servers.csv", "/scans"]) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      assertEquals(response.status, 200);
      assert((await response.text()).length > 0);
    }
  }
});
