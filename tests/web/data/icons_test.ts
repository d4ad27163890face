/** Tests src/web/data/icons.ts, and that src/web/data/listed_servers.ts uses it. */
import { assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import { Store } from "../../../src/store/store.ts";
import { isSmallPng, readIcon } from "../../../src/web/data/icons.ts";
import { UNKNOWN_GEOIP } from "../../../src/app/geoip/geoip_lookup.ts";
import { listedServers } from "../../../src/web/data/listed_servers.ts";
import { onEngines } from "../../store/databases.ts";
import { record } from "../../store/records.ts";

/** The start of a PNG file up to the end of its header. */
function pngOf(width: number, height: number): Uint8Array {
  const bytes = new Uint8Array(40);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

const svg = new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
/** Icons as servers send them, and whether pages show them. */
const ICONS: readonly (readonly [base64: string, isShown: boolean])[] = [
  [pngOf(64, 64).toBase64(), true],
  [pngOf(128, 1).toBase64(), true],
  [pngOf(129, 64).toBase64(), false],
  [pngOf(0, 64).toBase64(), false],
  [pngOf(64, 64).subarray(0, 33).toBase64(), true], // the header and no more
  [pngOf(64, 64).subarray(0, 32).toBase64(), false],
  [pngOf(64, 129).toBase64(), false],
  [pngOf(64, 0).toBase64(), false],
  [pngOf(1, 128).toBase64(), true],
  [svg.toBase64(), false],
  ["no base64!", false],
  ["", false],
];

onEngines("pages show an icon only if it is a small PNG file", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const hashOf = (i: number) => String(i).padStart(64, "0");
  const rows = ICONS.map(([icon], i): RecordWithAttachments => ({
    ...record(i + 1, { favicon_hash: hashOf(i) }),
    [ATTACHMENTS]: { replies: {}, icon },
  }));
  await store.write([...rows, record(100, { favicon_hash: hashOf(99) }), record(101)]);
  const ids = (await database.rows("select id from servers order by port")).map(({ id }) =>
    Number(id)
  );
  const listed = await listedServers(database, ids, () => UNKNOWN_GEOIP);
  const shown = [...ICONS.map(([, isShown]) => isShown), false, false];
  assertEquals(listed.map((one) => one.has_icon), shown);
  const files = await Promise.all(ICONS.map((_, i) => readIcon(database, hashOf(i))));
  assertEquals(files.map((bytes) => bytes !== undefined), ICONS.map(([, isShown]) => isShown));
});

Deno.test("a PNG file is known by its signature and its header, at any offset of its buffer", () => {
  const moved = new Uint8Array(100);
  moved.set(pngOf(16, 16), 7);
  assertEquals(isSmallPng(moved.subarray(7)), true);
  assertEquals(isSmallPng(moved), false);
});
