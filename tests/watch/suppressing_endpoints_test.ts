import { assertEquals } from "@std/assert";
import { SuppressingEndpoints } from "../../src/watch/suppressing_endpoints.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const ONE = { address: 0x7f000001, port: 19132 };
const OTHER = { address: 0x7f000001, port: 19133 };
const DAY = 86_400_000;

Deno.test("an endpoint suppresses protocols until it has been unresponsive for 30 days", () => {
  const endpoints = new SuppressingEndpoints(PROTOCOLS);
  const note = (at: number, suppresses: boolean, hasReplied: boolean) =>
    endpoints.note(ONE, { suppresses, hasReplied, at });
  note(0, false, true);
  assertEquals(endpoints.has(ONE, 0), false);
  note(5, true, false);
  assertEquals([endpoints.has(ONE, 6), endpoints.has(OTHER, 6)], [true, false]);
  note(20 * DAY, false, true); // a reply in another protocol prolongs it
  note(21 * DAY, false, false);
  assertEquals(endpoints.has(ONE, 50 * DAY - 1), true);
  assertEquals(endpoints.has(ONE, 50 * DAY), false);
  note(50 * DAY, false, true);
  assertEquals(endpoints.has(ONE, 50 * DAY), false);
});

Deno.test("a record of a protocol over UDP that harms no server suppresses others", () => {
  const endpoints = new SuppressingEndpoints(PROTOCOLS);
  const seen = (protocols: string[]) => {
    endpoints.noteRecord(ONE, { protocols }, DAY);
    return endpoints.has(ONE, 2 * DAY);
  };
  assertEquals([seen(["slp"]), seen(["sqp"]), seen(["slp", "query"])], [false, false, true]);
  endpoints.noteRecord(ONE, { protocols: ["raknet"] }, 1); // an older one
  assertEquals(endpoints.has(ONE, 31 * DAY - 1), true);
});

Deno.test("the endpoints that were noted last are remembered", () => {
  const endpoints = new SuppressingEndpoints(PROTOCOLS);
  const at = (address: number) => ({ address, port: 1 });
  for (let i = 0; i <= 65_536; i++) {
    endpoints.note(at(i), { suppresses: true, hasReplied: true, at: 0 });
  }
  assertEquals([0, 1, 65_536].map((i) => endpoints.has(at(i), 1)), [false, true, true]);
});
