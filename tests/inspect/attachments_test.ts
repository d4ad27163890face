import { assertEquals } from "@std/assert";
import { attachedOf } from "../../src/inspect/attachments.ts";

const statement = { columns: {}, flags: [], facts: {} };

Deno.test("replies are stored up to a length, and icons up to a size", () => {
  const raw = new Uint8Array(40_000).fill(7);
  const { replies, icon } = attachedOf([
    { protocol: "raknet", statement, raw: Uint8Array.of(1, 2) },
    { protocol: "query", statement, raw },
    { protocol: "slp", statement: { ...statement, icon: Uint8Array.of(3) } },
  ], "all");
  assertEquals(replies.raknet, { size: 2, data: "AQI=" });
  assertEquals([replies.query.size, Uint8Array.fromBase64(replies.query.data).length], [
    40_000,
    32_768,
  ]);
  assertEquals([Object.keys(replies), icon], [["raknet", "query"], "Aw=="]);
});

Deno.test("without raw replies no names of players are stored; an icon that is too large is not stored", () => {
  const icon = new Uint8Array(65_537);
  const reply = { protocol: "slp", statement: { ...statement, icon }, raw: Uint8Array.of(1) };
  assertEquals(attachedOf([reply], "icons"), { replies: {} });
});
