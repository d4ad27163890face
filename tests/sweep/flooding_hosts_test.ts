import { assert, assertEquals } from "@std/assert";
import { Endpoints } from "../../src/core/endpoints.ts";
import { FloodingHosts, noFloods } from "../../src/sweep/flooding_hosts.ts";

const HOST = { address: 0x7f000001, port: 19132 };
const clockAt = (time: number) => ({ now: () => time });

/** A detector of floods, and the addresses that it reported. */
function counting(maxProbes?: number) {
  const report = noFloods();
  const named: unknown[] = [];
  const onFlood = (address: unknown) => named.push(address);
  return { report, named, floods: new FloodingHosts(1, report, onFlood, maxProbes) };
}

function repeat(times: number, run: (i: number) => void): void {
  for (let i = 0; i < times; i++) run(i);
}

Deno.test("a host counts as flooding on all ports with the 64th surplus datagram of one endpoint", () => {
  const { floods, report, named } = counting();
  repeat(63, () => floods.surplus(HOST));
  assert(!floods.has(HOST.address));
  assert(!floods.drops(HOST.address, clockAt(0)));
  floods.surplus(HOST);
  assert(floods.has(HOST.address));
  assert(floods.hasAt(Endpoints.of({ ...HOST, port: 1 }), 0));
  assert(floods.drops(HOST.address, clockAt(0)));
  repeat(64, () => floods.surplus({ ...HOST, port: 7 }));
  assertEquals([named, report.hosts], [[HOST.address], 1]);
  assertEquals([report.datagrams, report.addresses], [1, ["127.0.0.1"]]);
});

Deno.test("duplicates of many servers of one host are not a flood", () => {
  const { floods } = counting(1000);
  repeat(1000, (i) => repeat(3, () => floods.surplus({ ...HOST, port: 1 + i })));
  assert(!floods.has(HOST.address));
});

Deno.test("a host that floods from changing ports is detected, whether the ports are probed or not", () => {
  for (const isProbed of [true, false]) {
    const { floods, named } = counting(6);
    const flood = (i: number) =>
      isProbed ? floods.surplus({ ...HOST, port: 1 + i }) : floods.stray(HOST.address);
    repeat(64 + 4 * 6 - 1, flood); // the limit of one endpoint, and four datagrams per probe
    assert(!floods.has(HOST.address));
    flood(65_000);
    assertEquals([floods.has(HOST.address), named], [true, [HOST.address]]);
  }
});

Deno.test("a flooding host among many is detected in bounded memory", () => {
  const { floods, report } = counting();
  repeat(100_000, (i) => {
    floods.stray(0x0a000000 + i);
    if (i % 100 === 0) floods.stray(HOST.address);
  });
  assertEquals([floods.has(HOST.address), report.hosts], [true, 1]);
});

Deno.test("a reply to another endpoint's probe counts less", () => {
  const { floods } = counting();
  repeat(511, () => floods.surplus(HOST, true));
  assert(!floods.has(HOST.address));
  floods.surplus(HOST, true);
  assert(floods.has(HOST.address));
});

Deno.test("a flood among forged sources is detected in bounded memory", () => {
  const { floods, report } = counting();
  repeat(100_000, (i) => {
    floods.surplus({ address: 0x0a000000 + i, port: 1 });
    if (i % 100 === 0) floods.surplus(HOST);
  });
  assert(floods.has(HOST.address));
  assertEquals(report.hosts, 1);
  repeat(5000, (i) => repeat(64, () => floods.surplus({ address: i, port: 1 })));
  assertEquals([report.hosts, report.addresses.length], [4096, 4096]);
});

Deno.test("sending pauses during a flood, and for half of the time when the flood does not end", () => {
  const { floods, report } = counting();
  repeat(64, () => floods.surplus(HOST));
  floods.begin("raknet");
  assertEquals(report.disturbed, []);
  let paused = 0;
  for (let time = 0; time < 5000; time++) {
    repeat(10, () => floods.drops(HOST.address, clockAt(time)));
    if (floods.pauses(time)) paused++;
  }
  assert(paused > 2200 && paused < 2600, `${paused} of 5000 ms`);
  assert(!floods.pauses(5100));
  assertEquals(report.disturbed, ["raknet"]);
  floods.begin("raknet");
  assertEquals(report.disturbed, ["raknet"]); // a pass that has not ended is not clean
  floods.end();
  assertEquals(report.disturbed, []);
});

Deno.test("a resumed scan keeps the hosts that flooded, and the protocols without an undisturbed pass", () => {
  const { floods, report } = counting();
  repeat(64, () => floods.surplus(HOST));
  for (const protocol of ["raknet", "query"]) {
    floods.begin(protocol);
    repeat(64, () => floods.drops(HOST.address, clockAt(0)));
  }
  floods.begin("raknet");
  const later = structuredClone(report);
  const resumed = new FloodingHosts(2, later);
  assert(resumed.has(HOST.address));
  assertEquals(later.disturbed, ["raknet", "query"]);
  resumed.begin("raknet", true); // the earlier run of this pass may have been disturbed
  resumed.begin("query");
  assertEquals(later.disturbed, ["raknet", "query"]);
  resumed.end();
  assertEquals(later.disturbed, ["raknet"]);
});
