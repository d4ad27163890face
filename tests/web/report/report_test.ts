/**
 * Tests src/web/report/, src/web/browser/report.ts and src/web/browser/report_columns.ts: what a report
 * counts, which rows it has, and what its file may do.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as nodeCrypto from "node:crypto";
import * as nodeZlib from "node:zlib";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { expectRow } from "../../../src/fleet/judge/expected_rows.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { type GeoipValues, UNKNOWN_GEOIP } from "../../../src/app/geoip/geoip_lookup.ts";
import type { StoredRecord } from "../../../src/store/rows/stored_record.ts";
import type { ReportColumns } from "../../../src/web/browser/report_columns.ts";
import { pointAt } from "../../../src/web/browser/hilbert.ts";
import { mapImage, pixelsOf } from "../../../src/web/report/map_image.ts";
import { ReportCollector } from "../../../src/web/report/report_data.ts";
import { reportPage } from "../../../src/web/report/report_page.tsx";
import { encodeRows, reportColumns } from "../../../src/web/report/report_rows.ts";
import { elementsOf } from "../pages/html_elements.ts";
import { HOSTILE, NOW, serverOf } from "../pages/sample_data.ts";

/** A server of a database. */
function stored(host: string, port: number, columns: Partial<StoredRecord> = {}): StoredRecord {
  const { protocol, probed_at, ...rest } = columns;
  return {
    ...emptyRecord({ address: parseAddress(host)!, port }, NOW),
    ...{ protocol: protocol ?? "raknet", protocols: ["raknet"], online: true, missed_scans: 0 },
    ...{ first_seen: NOW, probed_at: probed_at ?? NOW - 600_000 },
    ...rest,
  };
}

function collected(
  servers: readonly StoredRecord[],
  limit = 100,
  geoipOf: (host: string) => GeoipValues = () => UNKNOWN_GEOIP,
) {
  const collector = new ReportCollector(limit, geoipOf);
  for (const one of servers) collector.add(one);
  return collector.result();
}

const CONTEXT = {
  ...{ source: "servers.db", now: NOW, trend: undefined, hasGeoip: true, attributions: [] },
};

Deno.test("a report counts all servers, and has rows of those with the most players", () => {
  const servers = Array.from(
    { length: 5000 },
    (_, i) =>
      stored(`10.0.${i >> 8}.${i & 255}`, 19132, {
        players_online: i,
        online: i % 2 === 0,
        software: i % 5 === 0 ? "Paper" : null,
        seen_at: NOW - i,
      }),
  );
  const place = { country: "DE", asn: 64_500, operator: "Example" };
  const geoipOf = (host: string) => host === "10.0.0.1" ? place : UNKNOWN_GEOIP;
  const { facets, rows, replies } = collected(servers, 3, geoipOf);
  assertEquals([facets.servers, facets.online, facets.players], [5000, 2500, 2499 * 2500]);
  assertEquals(rows.map(({ players_online: players }) => players), [4998, 4996, 4994]);
  assertEquals(replies, { oldest: NOW - 4999, newest: NOW });
  assertEquals(
    facets.facets.software.map(({ value, servers, online }) => [value, servers, online]),
    [
      [null, 4000, 2000],
      ["Paper", 1000, 500],
    ],
  );
  assertEquals(facets.facets.operator.map(({ value, label }) => [value, label]), [
    [null, undefined],
    [64_500, "Example"],
  ]);
  assertEquals(collected(servers).facets.facets.country, []);
});

Deno.test("the map has the smallest square with all IPv4 addresses", () => {
  const squareOf = (...hosts: string[]) =>
    collected(hosts.map((host) => stored(host, 1))).map?.square;
  assertEquals(squareOf("10.1.2.3", "10.1.255.0"), { address: 0x0a01_0000, prefix: 16 });
  assertEquals(squareOf("10.1.2.3", "10.2.0.0"), { address: 0x0a00_0000, prefix: 8 });
  assertEquals(squareOf("10.1.2.3", "11.0.0.0", "::1"), { address: 0, prefix: 0 });
  assertEquals(squareOf("::1"), undefined);
  const { map } = collected([
    ...["10.1.2.3", "10.1.2.3", "10.2.0.9"].map((host, i) => stored(host, i + 1)),
  ]);
  const square = { address: 0x0a00_0000, prefix: 8 } as const;
  assertEquals(map, { square, cells: [0x0102, 0x0200], values: [2, 1], servers: 3 });
});

Deno.test("the map is a PNG image with a point for each cell", () => {
  const square = { address: 0x0a00_0000, prefix: 8 } as const;
  const map = { square, cells: [0, 4711, 65_535], values: [1, 9, 5], servers: 15 };
  const pixels = pixelsOf(map);
  assertEquals(pixels.filter((color) => color > 0).length, 3);
  const { x, y } = pointAt(0x0a_0000 + 4711, 12);
  assertEquals(pixels[y % 256 * 256 + x % 256], 5);
  const png = Uint8Array.fromBase64(mapImage(map, "dark").split(",")[1]);
  assertEquals(new TextDecoder("latin1").decode(png.subarray(1, 4)), "PNG");
  const view = new DataView(png.buffer);
  const found: string[] = [];
  for (let at = 8; at < png.length;) {
    const size = view.getUint32(at);
    const body = png.subarray(at + 4, at + 8 + size);
    found.push(new TextDecoder().decode(body.subarray(0, 4)));
    assertEquals(view.getUint32(at + 8 + size), nodeZlib.crc32(body));
    if (found.at(-1) === "IDAT") {
      const lines = nodeZlib.inflateSync(body.subarray(4));
      assertEquals(lines.length, 256 * 257);
      assertEquals(lines[y % 256 * 257 + 1 + x % 256], 5);
    }
    at += 12 + size;
  }
  assertEquals(found, ["IHDR", "PLTE", "IDAT", "IEND"]);
});

/** The columns in a data block, read as the script reads them. */
function decoded(block: string): ReportColumns {
  const json = nodeZlib.inflateRawSync(Uint8Array.fromBase64(block));
  return JSON.parse(new TextDecoder().decode(json));
}

Deno.test("rows are columns, ordered by address, in a deflated data block", () => {
  const { rows } = collected([
    stored("2001:db8::1", 2, { latency_ms: null }),
    stored("10.0.0.9", 2, {
      name: "b",
      motd: "§l§cb\n§#ff5555c",
      version: "1.21",
      latency_ms: 12.34,
    }),
    stored("10.0.0.9", 1, { name: "\u202ea", players_online: 3, players_max: 9, latency_ms: 1.26 }),
    stored("9.255.255.255", 1, { online: false, version: "1.21" }),
  ]);
  const columns = decoded(encodeRows(rows, NOW));
  assertEquals(columns, JSON.parse(JSON.stringify(reportColumns(rows, NOW))));
  assertEquals(columns.hosts, [0x09ff_ffff, 10, 0, "2001:db8::1"]);
  assertEquals(columns.ports, [1, 1, 2, 2]);
  assertEquals(columns.online, [0, 1, 1, 1]);
  assertEquals(columns.names, ["", "\ufffda", "c\tb\n\rc\tc", ""]);
  assertEquals(columns.players, [null, 3, null, null]);
  assertEquals(columns.versions.map((code) => columns.texts[code]), ["1.21", "", "1.21", ""]);
  assertEquals(columns.ages, [10, 10, 10, 10]);
  assertEquals(columns.latencies, [null, 13, 120, null]);
});

Deno.test("versions are sorted by release; a server with only a protocol number has its version", () => {
  const { rows, facets } = collected([
    stored("10.0.0.1", 1, { edition: "java", version: "1.21" }),
    stored("10.0.0.1", 2, { edition: "java", version: "1.21-pre1" }),
    stored("10.0.0.1", 3, { edition: "java", version: "24w21a" }),
    stored("10.0.0.1", 4, { edition: "java", version: null, protocol_version: 47 }),
    stored("10.0.0.1", 5, { edition: "java", version: null, protocol_version: 999 }),
    stored("10.0.0.1", 6, { edition: "java", version: "1.9" }),
  ]);
  const { texts, versions, versionOrder } = reportColumns(rows, NOW);
  const shown = ["1.21", "1.21-pre1", "24w21a", "1.8 to 1.8.9", "#999", "1.9"];
  assertEquals(versions.map((code) => texts[code]), shown);
  const ordered = ["1.8 to 1.8.9", "1.9", "24w21a", "1.21-pre1", "1.21", "#999"];
  assertEquals(versionOrder.map((code) => texts[code]), ordered);
  const values = [null, "1.21", "1.21-pre1", "24w21a", "1.9"];
  assertEquals(facets.facets.version.map(({ value }) => value), values);
});

Deno.test("a row has a text of which something is visible: the MOTD, the name, or none", () => {
  const motd = `§a${"\u3164".repeat(400)}Lobby`;
  const { rows } = collected([
    stored("10.0.0.1", 1, { name: "Lobby", motd: "§aLobby" }),
    stored("10.0.0.1", 2, { name: "Lobby", motd }),
    stored("10.0.0.1", 3, { name: "\u115f \u3164", motd }),
    stored("10.0.0.1", 4, { name: "\u200b", motd: null }),
  ]);
  assertEquals(reportColumns(rows, NOW).names, ["a\tLobby", "Lobby", "", ""]);
});

Deno.test("10,000 rows of a fleet need at most 300 KB", () => {
  const hosts = drawFleet({
    servers: 10_000,
    range: { start: 0x0a00_0000, end: 0x0b00_0000 },
    seed: 7,
  });
  const { rows } = collected(
    hosts.map(({ entry }, i) => ({
      ...expectRow(entry, Object.keys(entry.truth)),
      ...{ latency_ms: i * 7919 % 3000 / 10, seen_at: NOW, scan_id: null, alias_of: null },
      ...{ online: true, missed_scans: 0, first_seen: NOW, probed_at: NOW - i * 7919 % 1e7 },
    })),
    10_000,
  );
  assertEquals(rows.length, 10_000);
  assert(encodeRows(rows, NOW).length <= 300_000);
});

Deno.test("the policy of a report allows its style and script by their hashes, and no request", () => {
  const html = reportPage(collected([stored("10.0.0.1", 1)]), CONTEXT);
  const [, policy] = /Content-Security-Policy" content="([^"]+)"/.exec(html)!;
  const hash = (text: string) =>
    `&#39;sha256-${nodeCrypto.createHash("sha256").update(text).digest("base64")}&#39;`;
  const [, style] = /<style>([\s\S]*?)<\/style>/.exec(html)!;
  const [, script] = /<script>([\s\S]*?)<\/script>/.exec(html)!;
  assertStringIncludes(
    policy,
    `script-src ${hash(script)}; style-src ${hash(style)}; img-src data:;`,
  );
  assert(policy.startsWith("default-src &#39;none&#39;;"));
  assert(policy.endsWith("require-trusted-types-for &#39;script&#39;"));
  assert(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(/.test(script));
  assert(!/: string\b|\binterface |^import /m.test(script.replace(/^\s*(\/?\*|\/\/).*$/gm, "")));
  for (const { name, attributes } of elementsOf(withoutTexts(html))) {
    for (const key of ["src", "srcset", "href"]) {
      const value = attributes.get(key);
      assert(value === undefined || value.startsWith("data:image/"), `${name} ${key}=${value}`);
    }
    assert(!attributes.has("style"), name);
  }
});

/** A report without its style, script and rows, which are no elements. */
function withoutTexts(html: string): string {
  return html.replace(/(<(style|script)[^>]*>)[\s\S]*?(<\/\2>)/g, "$1$3");
}

Deno.test("hostile texts add no elements or attributes to a report, and stay texts in its rows", () => {
  const shapesOf = (text: string) => {
    const server = { ...serverOf(text), host: "10.0.0.1" };
    const context = { ...CONTEXT, source: text, attributions: [text] };
    const geoipOf = () => ({ country: text, asn: 1, operator: text });
    const html = reportPage(collected([server], 1, geoipOf), context);
    assert(html.indexOf("alert(1)") < 0 || !/<(script|img|svg)[^>]*alert/.test(html));
    const elements = elementsOf(withoutTexts(html));
    const [, block] = /id="rows"[^>]*>([^<]*)</.exec(html)!;
    const columns = decoded(block);
    const [name] = columns.names;
    assert(name.length <= 200 && !["\0", "\x1b", "\u202e"].some((one) => name.includes(one)));
    return new Set(
      elements.flatMap(({ name, attributes }) =>
        [...attributes.keys()].map((key) => `${name} ${key}`)
      ),
    );
  };
  const harmless = shapesOf("Sample");
  for (const text of HOSTILE) {
    assertEquals([...shapesOf(text)].filter((one) => !harmless.has(one)), [], text.slice(0, 60));
  }
});

Deno.test("a report names what it leaves out, shows trends and attributions, and may be empty", () => {
  const point = (hour: number) => ({
    at: NOW - hour * 3_600_000,
    ...{ servers: 3, online: 2, players: 7, watched_share: 1 },
  });
  const trend = { value: null, points: [point(2), point(1)] };
  const attributions = ["IP Geolocation by DB-IP: https://db-ip.com"];
  const two = [stored("10.0.0.1", 1), stored("10.0.0.2", 1)];
  const html = reportPage(collected(two, 1), { ...CONTEXT, trend, attributions });
  assertStringIncludes(html, "The table has 1 of 2 servers: those with the most players.");
  assertStringIncludes(html, "Watched servers in the last 30 days");
  const filters = html.indexOf("data-filters");
  assert(filters > 0 && filters < html.indexOf("Watched servers in the last"), "filters are below");
  assert(filters < html.indexOf('class="bars"'), "filters are below the bars");
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, code]) => code);
  const hashes = scripts.map((code) =>
    `&#39;sha256-${nodeCrypto.createHash("sha256").update(code).digest("base64")}&#39;`
  );
  assertStringIncludes(html, `script-src ${hashes.join(" ")}; style-src`);
  new Function(scripts[1]); // it is one script, without imports and exports
  assertStringIncludes(scripts[1], "uPlot");
  assert(!reportPage(collected(two, 1), CONTEXT).includes("uPlot="));
  assertStringIncludes(html, '<a href="https://db-ip.com" rel="noreferrer">db-ip.com</a>');
  const empty = reportPage(collected([]), CONTEXT);
  elementsOf(withoutTexts(empty));
  assert(!empty.includes("Map of") && !empty.includes("The table has"));
});
