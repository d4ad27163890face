import { assert, assertEquals } from "@std/assert";
import { Responders } from "../../src/sweep/responders.ts";

const at = (address: number, port = 19132) => ({ address: 0x0a000000 + address, port });

Deno.test("a responder is added once", () => {
  const responders = new Responders(7);
  assert(!responders.has(at(1)));
  assertEquals([responders.add(at(1)), responders.add(at(1))], [true, false]);
  assert(responders.has(at(1)) && !responders.has(at(1, 7)));
});

Deno.test("an endpoint gets one hold, and the number of holds is limited", () => {
  const responders = new Responders(7);
  assertEquals([responders.hold(at(0)), responders.hold(at(0))], ["held", "known"]);
  for (let i = 1; i < 4096; i++) assertEquals(responders.hold(at(i)), "held");
  assertEquals(responders.hold(at(4096)), "full");
  assert(responders.add(at(9)));
  assertEquals(responders.hold(at(9)), "known", "it has replied");
  assertEquals(responders.hold(at(4096)), "held", "proof makes room");
});

Deno.test("the number of holds per address is limited", () => {
  const responders = new Responders(7);
  for (let port = 1; port <= 64; port++) assertEquals(responders.hold(at(1, port)), "held");
  assertEquals(responders.hold(at(1, 65)), "full");
  assertEquals(responders.hold(at(2)), "held");
  assert(responders.add(at(1, 3)));
  assertEquals([responders.hold(at(1, 65)), responders.hold(at(1, 66))], ["held", "full"]);
});
