import { assertEquals, assertRejects } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { denoRecords, protocolHint, serviceFinder } from "../../../src/app/names/dns_lookup.ts";
import { InputError } from "../../../src/core/errors.ts";
import { type ServiceRecord, unusableServices } from "../../../src/targets/srv.ts";
import { type DnsAnswer, openDns } from "../../fakes/dns.ts";

const record = (target: string, port: number, priority = 0, weight = 0): ServiceRecord => ({
  ...{ target, port, priority, weight },
});

/** Looks up a name at a name server that sends the same reply to every query. */
async function find(response: DnsAnswer, name = "play.example.org") {
  await using dns = openDns(response);
  const service = await serviceFinder({ recordsOf: denoRecords(dns.nameServer) })(name);
  return { service, queried: dns.queried };
}

Deno.test("an SRV record is looked up by its full name, and parsed", async () => {
  const { service, queried } = await find([record("MC1.example.org.", 25570)]);
  assertEquals(service, { host: "mc1.example.org", port: 25570 });
  assertEquals(queried, ["_minecraft._tcp.play.example.org."]);
});

Deno.test("of several SRV records the one with the lowest priority is used, then with the highest weight", async () => {
  const { service } = await find([
    record("spare.example.org.", 3, 20, 900),
    record("light.example.org.", 2, 10, 5),
    record("heavy.example.org.", 1, 10, 50),
  ]);
  assertEquals(service, { host: "heavy.example.org", port: 1 });
});

Deno.test("SRV records without a host name are ignored", async () => {
  for (const target of [".", "10.0.0.1.", "a b.example.", "\x1b[2Jx."]) {
    assertEquals((await find([record(target, 25565)])).service, undefined, target);
  }
  assertEquals((await find([record("a.example.", 0)])).service, undefined);
});

Deno.test("SRV records without a host name are reported, with their text escaped", async () => {
  const targets = ["10.0.0.1.", "0x7f.1.", "\x1b[2Jx.", ".", "mc.example.", "a.example."];
  const records = targets.map((target, i) => record(target, i === 5 ? 0 : 25565));
  await using dns = openDns(records);
  const notes: string[] = [];
  const find = serviceFinder({
    recordsOf: denoRecords(dns.nameServer),
    note: (text: string) => notes.push(text),
  });
  assertEquals((await find("play.example"))?.host, "mc.example");
  const line = (target: string) =>
    `Cannot use the record "play.example SRV ${target}": its target is not a host name`;
  assertEquals(
    notes.sort(),
    [
      line("0x7f.1:25565"),
      line("10.0.0.1:25565"),
      line(String.raw`\033\[2Jx:25565`), // the host name has this form in the system
      'Cannot use the record "play.example SRV a.example:0": 0 is not a port',
    ].sort(),
  );
});

Deno.test("the error for a protocol's name as a host shows how to write several protocols", () => {
  const hint = "; separate protocols with commas, for example --protocol raknet,nethernet";
  assertEquals([protocolHint("slp", PROTOCOLS), protocolHint("play.example", PROTOCOLS)], [
    hint,
    "",
  ]);
});

Deno.test("the target of an SRV record is escaped in messages", () => {
  assertEquals(unusableServices("a.example", [record("\x1b[2Jx.", 1)]), [
    'Cannot use the record "a.example SRV ␛[2Jx:1": its target is not a host name',
  ]);
});

Deno.test("a missing SRV record is not an error", async () => {
  const [failed, unknown, refused] = [2, 3, 5];
  for (const response of [[], failed, unknown, refused]) {
    assertEquals((await find(response)).service, undefined);
  }
});

Deno.test("names are looked up in ASCII; local names and invalid ones are not looked up", async () => {
  assertEquals((await find(3, "spiel.müller.example")).queried, [
    "_minecraft._tcp.spiel.xn--mller-kva.example.",
  ]);
  for (const name of ["localhost", "mc.localhost", "xn--a"]) {
    assertEquals(await find([record("a.example.", 1)], name), { service: undefined, queried: [] });
  }
  assertEquals((await find(3, "notlocalhost")).queried.length, 1);
});

Deno.test("a lookup at an unresponsive name server, or one with invalid replies, ends in time", async () => {
  const silences: DnsAnswer[] = ["silence", Uint8Array.of(1, 2, 3)];
  for (const response of silences) {
    const timeouts: number[] = [];
    let timeOut = () => {};
    // The time is over when the name server gets the query.
    await using dns = openDns(response, () => timeOut());
    const clock = {
      after(ms: number, callback: () => void) {
        timeouts.push(ms);
        timeOut = callback;
        return () => {};
      },
    };
    const search = serviceFinder({ recordsOf: denoRecords(dns.nameServer), clock });
    await assertRejects(
      () => search("play.example.org"),
      InputError,
      'Cannot look up the SRV record of "play.example.org": the name server does not reply',
    );
    assertEquals([timeouts, dns.queried.length], [[2000], 1]);
  }
});

Deno.test("a lookup without a route to a name server is reported in one line", async () => {
  const { resolveDns } = Deno;
  const message = "proto error: io error: Network is unreachable (os error 101)";
  Deno.resolveDns = () => Promise.reject<never>(new Error(message));
  try {
    await assertRejects(
      () => serviceFinder()("play.example.org"),
      InputError,
      'Cannot look up the SRV record of "play.example.org": no name server can be reached',
    );
  } finally {
    Deno.resolveDns = resolveDns;
  }
});

Deno.test("a name that is too long for a DNS query is refused", async () => {
  const name = Array(4).fill("a".repeat(62)).join(".");
  await assertRejects(() => find(3, name), InputError, "Cannot look up the SRV record of");
});

Deno.test({
  name: "a lookup without permission is refused with the name of the flag",
  permissions: { net: ["127.0.0.2"] },
  fn: async () => {
    const search = serviceFinder({ recordsOf: denoRecords({ ipAddr: "127.0.0.1", port: 53 }) });
    await assertRejects(() => search("play.example.org"), InputError, "--allow-net");
  },
});
