import { assert, assertEquals } from "@std/assert";
import { Endpoints } from "../../src/endpoints.ts";
import { Floods, noFloods } from "../../src/sweep/floods.ts";

const HOST = { address: 0x7f000001, port: 19132 };
const clockAt = (time: number) => ({ now: () => time });

/** Floods, and the addresses that it named. */
function counting() {
  const report = noFloods();
  const named: unknown[] = [];
  return { report, named, floods: new Floods(1, report, (address) => named.push(address)) };
}

function repeat(times: number, run: (i: number) => void): void {
  for (let i = 0; i < times; i++) run(i);
}

Deno.test("a host floods with the 64th surplus datagram of one endpoint, on all its ports", () => {
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

Deno.test("duplicates of many servers of one host are no flood", () => {
  const { floods } = counting();
  repeat(1000, (i) => repeat(3, () => floods.surplus({ ...HOST, port: 1 + i })));
  assert(!floods.has(HOST.address));
});

Deno.test("a reply to another endpoint's probe weighs less", () => {
  const { floods } = counting();
  repeat(511, () => floods.surplus(HOST, true));
  assert(!floods.has(HOST.address));
  floods.surplus(HOST, true);
  assert(floods.has(HOST.address));
});

Deno.test("a flood is found among forged sources, in bounded memory", () => {
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

Deno.test("sending pauses while a flood lasts, and for half of the time where it does not end", () => {
  const { floods } = counting();
  repeat(64, () => floods.surplus(HOST));
  floods.begin("raknet");
  assertEquals(floods.disturbed, []);
  let paused = 0;
  for (let time = 0; time < 5000; time++) {
    repeat(10, () => floods.drops(HOST.address, clockAt(time)));
    if (floods.pauses(time)) paused++;
  }
  assert(paused > 2200 && paused < 2600, `${paused} of 5000 ms`);
  assert(!floods.pauses(5100));
  assertEquals(floods.disturbed, ["raknet"]);
  floods.begin("raknet");
  assertEquals(floods.disturbed, []);
});
