/**
 * The description of the API: its structure is that of OpenAPI 3.1, and each route that it has answers as
 * it says. Also tests src/web/api/openapi.ts, src/web/queries/schemas.ts and src/web/api/routes.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readServersCursor, serversCursor } from "../../../src/web/queries/cursors.ts";
import { fakeData, SCAN_ID } from "../fake_data.ts";
import { type Client, clientOf } from "../http/client.ts";
import { schemaFaults } from "../json_schema.ts";
import { withDatabase } from "../served_database.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

async function describe(get: Client): Promise<Json> {
  return JSON.parse((await get("GET /api/openapi.json")).text);
}

Deno.test("openapi.json has the structure of OpenAPI 3.1", async () => {
  const document = await describe(clientOf());
  assertEquals(document.openapi, "3.1.0");
  assertStringIncludes(document.info.description, "more than 20000 servers have long ones");
  assertStringIncludes(document.info.description, "within a minute");
  assert(document.info.title !== "" && /^\d+\.\d+\.\d+$/.test(document.info.version));
  const ids = new Set<string>();
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    assertEquals(Object.keys(item), ["get"], path);
    const { operationId, summary, parameters, responses } = item.get;
    assert(/^\w+$/.test(operationId) && !ids.has(operationId), operationId);
    ids.add(operationId);
    assert(summary.endsWith("."), summary);
    const inPath = parameters.filter((one: Json) => one.in === "path").map(({ name }: Json) =>
      name
    );
    assertEquals(inPath, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name), path);
    const names = parameters.map((one: Json) => `${one.in} ${one.name}`);
    assertEquals(new Set(names).size, names.length, path);
    for (const { name, in: place, required, description, schema } of parameters) {
      assert(["path", "query"].includes(place) && required === (place === "path"), name);
      assert(description.length > 5, name);
      assertEquals(schemaFaults(null, { anyOf: [schema, { type: "null" }] }, document), []);
    }
    for (const status of ["200", "400", "401", "403", "404", "421", "503"]) {
      const { description, content } = responses[status];
      assert(description.endsWith("."), description);
      assertEquals(Object.keys(content).length, 1);
    }
  }
  assertEquals(Object.keys(document.components), ["schemas", "securitySchemes"]);
});

/** A value that a schema of a parameter accepts. */
function exampleOf(name: string, schema: Json): string {
  const one = schema.type === "array" ? schema.items : schema;
  const named: Record<string, string> = {
    ...{ id: "1", scan_id: SCAN_ID, scan: SCAN_ID, network: "10.0.0.0/8", prefix: "10.0.0.0/8" },
    ...{
      before: "1700000000000-812-40",
      country: "DE",
      from: "1700000000000",
      to: "1800000000000",
    },
    ...{ since: "0", server: "1", down: "1h", stale: "7d", replied: "24h" },
  };
  return named[name] ?? one.enum?.[0] ??
    (one.type === "integer" ? String(one.minimum) : one.type === "boolean" ? "true" : "a");
}

/** Calls every route of the document, without and with each of its parameters. */
async function callAll(get: Client, isFound: (path: string) => boolean): Promise<number> {
  const document = await describe(get);
  let calls = 0;
  for (const [template, item] of Object.entries<Json>(document.paths)) {
    const { parameters, responses } = item.get;
    const path = template.replace(
      /\{(\w+)\}/g,
      (_, name) => exampleOf(name, parameters.find((one: Json) => one.name === name).schema),
    );
    if (template === "/api/live" || !isFound(template)) continue;
    const queries = parameters.filter((one: Json) => one.in === "query" && one.name !== "cursor")
      .map(({ name, schema }: Json) => `?${name}=${encodeURIComponent(exampleOf(name, schema))}`);
    for (const query of ["", ...queries]) {
      const { status, headers, text } = await get(`GET ${path}${query}`);
      assertEquals(status, 200, `${path}${query}: ${text}`);
      const [type] = Object.keys(responses[200].content);
      assertEquals(headers["content-type"], type);
      const { schema } = responses[200].content[type];
      assertEquals(schemaFaults(JSON.parse(text), schema, document), [], `${path}${query}`);
      calls++;
    }
    const wrong = await get(`GET ${path}?nothing=1`);
    assertEquals(wrong.status, 400);
    const error = responses[400].content["application/json"].schema;
    assertEquals(schemaFaults(JSON.parse(wrong.text), error, document), []);
  }
  return calls;
}

Deno.test("every route of openapi.json answers as it says", async () => {
  assert(await callAll(clientOf(), () => true) > 60);
  assert(await callAll(clientOf({ hasGeoip: true }), () => true) > 60);
});

Deno.test("with a SQLite database, too, every route answers as openapi.json says", () =>
  withDatabase(async (data) => {
    const isFound = (path: string) => path !== "/api/scans/{scan_id}";
    assert(await callAll(clientOf({ data }), isFound) > 60);
  }));

Deno.test("next and previous lead through all servers and back, and exports have the same servers", () =>
  withDatabase(async (data) => {
    const get = clientOf({ data });
    const page = async (query: string): Promise<Json> =>
      JSON.parse((await get(`GET /api/servers?${query}`)).text);
    for (const filters of ["sort=name", "sort=address&edition=java", "sort=players&online=true"]) {
      const ids: number[] = [];
      let last: Json;
      for (
        let at = await page(`${filters}&limit=7`);;
        at = await page(`${filters}&limit=7&cursor=${at.next}`)
      ) {
        last = at;
        ids.push(...at.servers.map(({ id }: Json) => id));
        if (at.next === null) break;
      }
      assertEquals([new Set(ids).size, ids.length > 40], [ids.length, true]);
      const back: number[] = last.servers.map(({ id }: Json) => id);
      for (let at = last; at.previous !== null;) {
        at = await page(`${filters}&limit=7&cursor=${at.previous}`);
        back.unshift(...at.servers.map(({ id }: Json) => id));
      }
      assertEquals(back, ids);
      const keys = (await page(`${filters}&limit=500`)).servers.map((
        { host, port }: Json,
      ) => [host, port]);
      const lines = (await get(`GET /servers.ndjson?${filters}`)).text.trim().split("\n");
      const rows = lines.map((line) => JSON.parse(line)).map(({ host, port }) => [host, port]);
      assertEquals(rows, keys);
    }
  }));

Deno.test("an export of several pages has all rows, and ends when the client stops", async () => {
  const get = clientOf({ data: fakeData({}, 1234) });
  const csv = (await get("GET /servers.csv")).text.split("\r\n");
  assertEquals([csv.length, csv[0].startsWith("host,port,")], [1236, true]);
  assert((await get("GET /servers.ndjson")).text.trimEnd().split("\n").length === 1234);
});

Deno.test("names of players are only in the answer about their server", async () => {
  const players = (path: string) =>
    clientOf()(`GET ${path}`).then(({ text }) => text.includes("Ann"));
  assert(await players("/api/servers/1"));
  for (
    const path of [
      "/api/servers",
      `/api/scans/${SCAN_ID}`,
      "/servers.csv",
      "/servers.ndjson",
      "/servers",
    ]
  ) assert(!await players(path), path);
});

Deno.test("a cursor of another order, and a damaged one, are refused", async () => {
  const get = clientOf();
  const { next } = JSON.parse((await get("GET /api/servers?limit=2&sort=name")).text);
  const error = async (query: string) => {
    const { status, text } = await get(`GET /api/servers?${query}`);
    assertEquals(status, 400, query);
    return JSON.parse(text).error;
  };
  assertEquals(
    await error(`cursor=${next}&sort=new`),
    "Cannot use cursor: it is of the order name",
  );
  for (let i = 0; i < next.length; i++) {
    const other = next[i] === "A" ? "B" : "A";
    const damaged = next.slice(0, i) + other + next.slice(i + 1);
    const { status } = await get(`GET /api/servers?cursor=${damaged}`);
    assert(status === 400 || i === next.length - 1, damaged); // the last character has unused bits
  }
  await error("cursor=1");
  const wrong = [["a\0", 1], ["\ud800", 1], ["a"], ["a", 1.5], ["a", 1, 2], [1, 1], ["a", "1"]];
  for (const position of [...wrong, ["a".repeat(201), 1]]) {
    const forged = serversCursor("name", { direction: "after", position });
    assertEquals(readServersCursor(forged), undefined);
    await error(`cursor=${forged}`);
  }
});

Deno.test("cells of a map are the sums of their gaps", async () => {
  const { gaps, values, network } = JSON.parse((await clientOf()("GET /api/map")).text);
  assertEquals([gaps, values, network], [[4, 7, 246], [1, 2, 3], "0.0.0.0/0"]);
});

Deno.test("an unchanged answer is 304, and a changed one is not", async () => {
  let count = 5;
  const data = { ...fakeData(), scans: () => fakeData({}, count).scans() };
  const get = clientOf({
    data: { ...data, servers: (query) => fakeData({}, count).servers(query) },
  });
  const { headers } = await get("GET /api/servers");
  const again = (tag: string) => get("GET /api/servers", { "if-none-match": tag });
  for (const tag of [headers.etag, headers.etag.slice(2), `"x", ${headers.etag}`, "*"]) {
    const { status, text } = await again(tag);
    assertEquals([status, text], [304, ""]);
  }
  count = 6;
  assertEquals((await again(headers.etag)).status, 200);
  assertEquals((await again('"x"')).status, 200);
});

Deno.test("answers are compressed for clients that accept it, and are otherwise equal", async () => {
  const get = clientOf();
  const plain = await get("GET /api/servers");
  const zipped = await get("GET /api/servers", { "accept-encoding": "gzip, br" });
  assertEquals([plain.headers["content-encoding"], zipped.headers["content-encoding"]], [
    undefined,
    "gzip",
  ]);
  const stream = new Blob([zipped.bytes as BlobPart]).stream()
    .pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(stream).text(), plain.text);
  assertEquals(zipped.headers.vary, "Accept-Encoding");
});
