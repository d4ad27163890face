import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { loadEngine } from "../../src/library/engines.ts";
import { compose } from "../../src/targets/compose.ts";

const RANGE = { range: { start: 0x7f000001, end: 0x7f000002 }, port: undefined };
const TARGETS = compose([RANGE], { never: [], private: [], chosen: [] });

Deno.test("a program loads an engine, which opens sockets", async () => {
  const { name, open } = await loadEngine("portable", TARGETS);
  await using socket = open({ address: 0x7f000001, port: 0 });
  assertEquals([name, socket.family], ["portable", 4]);
});

Deno.test("an engine that its permissions do not allow is refused, with what it lacks", async () => {
  // this needs --allow-ffi, or --allow-net without a list
  const message = "Cannot use --engine udp: it ";
  await assertRejects(() => loadEngine("udp", TARGETS), InputError, message);
});
