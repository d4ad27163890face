/**
 * Lookups of SRV records with modules of Node.js, which Deno has too.
 *
 * Covers src/app/names/node_records.ts.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { serviceFinder } from "../../src/app/names/dns_lookup.ts";
import { nodeRecords } from "../../src/app/names/node_records.ts";
import { InputError } from "../../src/core/errors.ts";
import { openDns } from "../fakes/dns.ts";

Deno.test("with Node.js an SRV record is looked up by its full name, and parsed", async () => {
  const weights = { priority: 1, weight: 2 };
  await using dns = openDns([{ ...weights, port: 25570, target: "MC1.example.org." }]);
  const find = serviceFinder({ recordsOf: nodeRecords(dns.nameServer) });
  assertEquals(await find("play.example.org"), { host: "mc1.example.org", port: 25570 });
  assertEquals(dns.queried, ["_minecraft._tcp.play.example.org."]);
});

Deno.test("with Node.js a missing record is not an error, and neither is a refusal", async () => {
  const [failed, unknown, refused] = [2, 3, 5];
  for (const response of [[], failed, unknown, refused]) {
    await using dns = openDns(response);
    const find = serviceFinder({ recordsOf: nodeRecords(dns.nameServer) });
    assertEquals(await find("play.example.org"), undefined, String(response));
  }
});

Deno.test("with Node.js a lookup at an unresponsive name server ends in time", async () => {
  let timeOut = () => {};
  await using dns = openDns("silence", () => timeOut());
  const clock = {
    after(_: number, callback: () => void) {
      timeOut = callback;
      return () => {};
    },
  };
  const find = serviceFinder({ recordsOf: nodeRecords(dns.nameServer), clock });
  await assertRejects(
    () => find("play.example.org"),
    InputError,
    'Cannot look up the SRV record of "play.example.org": the name server does not reply',
  );
});
