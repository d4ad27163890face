import { assert, assertEquals, assertThrows } from "@std/assert";
import { GOLDEN, goldenOf } from "../golden/mod.ts";
import { DECODERS, toJson } from "./decoders/mod.ts";
import { part, PartError } from "./parts.ts";

for (const golden of GOLDEN) {
  const decoder = DECODERS[golden.decoder];

  Deno.test(`golden ${golden.name} decodes to the value in its file`, () => {
    if (golden.throws !== undefined) {
      const error = assertThrows(() => decoder.decode(golden.bytes), Error);
      assertEquals(`${error.name}: ${error.message}`, golden.throws);
      return;
    }
    const value = decoder.decode(golden.bytes);
    assertEquals(toJson(value), golden.value);
    if (value !== undefined && decoder.statement) {
      assertEquals(toJson(decoder.statement(value)), golden.statement);
    }
  });

  if (golden.encodes) {
    Deno.test(`golden ${golden.name} encodes to the same bytes`, () => {
      assertEquals(decoder.encode(decoder.decode(golden.bytes)).toHex(), golden.bytes.toHex());
    });
  }

  Deno.test(`every proper prefix of golden ${golden.name} is rejected or flagged`, () => {
    for (let size = 0; size < golden.bytes.length; size++) {
      part(decoder, golden.bytes, size);
    }
  });
}

Deno.test("every decoder has golden messages that it accepts", () => {
  for (const name of Object.keys(DECODERS)) {
    assert(GOLDEN.some(({ decoder, value }) => decoder === name && value), name);
  }
});

Deno.test("the prefix check catches a decoder that forgets a length", () => {
  const bytes = goldenOf("query").find(({ name }) => name.startsWith("g11"))!.bytes;
  const forgetful = { ...DECODERS.stat, decode: () => ({ flags: [] }) };
  assertThrows(() => part(forgetful, bytes, 20), PartError, "20");
});
