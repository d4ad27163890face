/** Covers src/web/pages/map_table.tsx. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseAddress } from "../../../src/core/address.ts";
import { fittedPart, networkText } from "../../../src/web/components/map_legend.tsx";
import { mapPage } from "../../../src/web/pages/map_page.tsx";
import { rangeText, rowsOf } from "../../../src/web/pages/map_table.tsx";
import { contextOf } from "./sample_data.ts";

const square = { address: 0x0a000000, prefix: 8 } as const;

Deno.test("neighbouring scanned networks are one row, in the order of addresses", () => {
  const cells = [0, 1, 2, 3, 7, 8, 256, 257, 258];
  const values = [1, 1, 3, 3, 1, 1, 1, 1, 1];
  const rows = rowsOf("scanned", { square, cells, values, servers: 0 });
  assertEquals(rows.map((row) => [rangeText(row), row.value]), [
    ["10.0.0.0/23", 1],
    ["10.0.2.0/23", 3],
    ["10.0.7.0-10.0.8.255", 1],
    ["10.1.0.0-10.1.2.255", 1],
  ]);
  const all = { cells: Array.from({ length: 65_536 }, (_, i) => i), values: Array(65_536).fill(1) };
  const whole = rowsOf("scanned", { square: { address: 0, prefix: 0 }, ...all, servers: 0 });
  assertEquals(whole.map(rangeText), ["0.0.0.0/0"]);
});

Deno.test("the fullest cells are first, and those that were probed last", () => {
  const map = { square, cells: [1, 2, 3], values: [5, 9, 5], servers: 19 };
  const names = (layer: "servers" | "age") => rowsOf(layer, map).map(rangeText);
  assertEquals(names("servers"), ["10.0.2.0/24", "10.0.1.0/24", "10.0.3.0/24"]);
  assertEquals(names("age"), ["10.0.1.0/24", "10.0.3.0/24", "10.0.2.0/24"]);
  const first = parseAddress("10.0.0.255") as number;
  assertEquals(rangeText({ first, last: first }), "10.0.0.255");
});

Deno.test("the map shows the smallest part of its square with servers, and all of a chosen square", () => {
  const square = { address: 0x7f540000, prefix: 16 } as const;
  const part = (cells: readonly number[]) => networkText(fittedPart({ square, cells }));
  assertEquals(part([0, 1023]), "127.84.0.0/22");
  assertEquals(part([0x100, 0x1ff]), "127.84.1.0/24");
  assertEquals(part([0xff, 0x100]), "127.84.0.0/22");
  assertEquals(part([0x3ff, 0x400]), "127.84.0.0/20");
  assertEquals(part([7]), "127.84.0.0/24");
  assertEquals(part([0, 65_535]), "127.84.0.0/16");
  assertEquals(part([]), "127.84.0.0/16");
  const wide = { square: { address: 0, prefix: 0 } as const, cells: [0x0a00, 0x0b00] };
  assertEquals(networkText(fittedPart(wide)), "8.0.0.0/6");
  const cells = { square, cells: [0, 1023], values: [1, 1], servers: 2 };
  const query = { layer: "servers", filters: {} } as const;
  const pageOf = (chosen?: typeof square) =>
    mapPage({ query: { ...query, square: chosen }, cells, page: 1 }, contextOf("/map"));
  assertStringIncludes(pageOf(), `data-shown-prefix="22"`);
  assertStringIncludes(pageOf(), `aria-current="page">127.84.0.0/22</a>`);
  assertStringIncludes(pageOf(square), `data-shown-prefix="16"`);
  assertStringIncludes(pageOf(square), `aria-current="page">127.84.0.0/16</a>`);
});

Deno.test("the table has pages, whose bars are relative to the fullest cell of the map", () => {
  const cells = Array.from({ length: 60 }, (_, i) => i);
  const map = { square, cells, values: cells.map((i) => 60 - i), servers: 1830 };
  const query = { square, layer: "servers", filters: { online: true } } as const;
  const at = (page: number) => mapPage({ query, cells: map, page }, contextOf("/map"));
  const networks = (html: string) =>
    [...html.matchAll(/<code>(10\.0\.\d+\.0\/24)<\/code>/g)].map(([, network]) => network);
  assertEquals(networks(at(1)).length, 25);
  assertEquals(networks(at(2))[0], "10.0.25.0/24");
  assertEquals(networks(at(3)), cells.slice(50).map((i) => `10.0.${i}.0/24`));
  assertEquals(networks(at(99)), networks(at(3)));
  assert(at(3).includes("51 to 60 of 60 networks"));
  assert(at(2).includes('href="/map?online=true&amp;prefix=10.0.0.0%2F8&amp;page=3"'), at(2));
  assert(at(2).includes('href="/map?online=true&amp;prefix=10.0.0.0%2F8"'));
  const widths = [...at(3).matchAll(/class="fill" width="([\d.]+)%/g)];
  assertEquals(Number(widths[0][1]).toFixed(2), (100 * 10 / 60).toFixed(2));
});
