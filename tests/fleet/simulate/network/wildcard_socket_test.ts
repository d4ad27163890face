/**
 * The socket of fleets with many hosts: Linux, through FFI.
 *
 * Covers src/net/linux/wildcard_socket.ts.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../../src/core/errors.ts";
import { drawFleet } from "../../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../../src/fleet/simulate/open_fleet.ts";
import * as raknet from "../../../../src/protocols/raknet/mod.ts";
import { systemClock } from "../../../../src/net/clock.ts";
import { openSocket } from "../../../../src/net/deno/udp_socket.ts";

const ignore = Deno.build.os !== "linux";
const RANGE = { start: 0x7f640000, end: 0x7f650000 };

Deno.test({ name: "5,000 hosts respond, each from its own address", ignore }, async () => {
  // A separate port, because the socket binds it on every address.
  const hosts = drawFleet({ servers: 5000, range: RANGE, seed: 1, software: ["bds"] })
    .map((host) => ({ ...host, endpoint: { ...host.endpoint, port: 29_132 } }));
  await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await using socket = openSocket({ address: 0x7f000001, port: 0 });
  const replied = new Set<number | bigint>();
  let waiting = 0;
  let wake = () => {};
  void socket.listen((datagram, from) => {
    assertEquals(raknet.decodePong(datagram)?.time, BigInt(from.address));
    replied.add(from.address);
    if (--waiting === 0) wake();
  });
  for (let start = 0; start < hosts.length; start += 100) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const some = hosts.slice(start, start + 100);
    waiting = some.length;
    wake = resolve;
    for (const { endpoint } of some) {
      const time = BigInt(endpoint.address);
      await socket.send(raknet.encodePing({ openOnly: false, time, guid: 2n }), endpoint);
    }
    await promise;
  }
  assertEquals([replied.size, fleet.received, fleet.sent], [5000, 5000, 5000]);
});

Deno.test("more than 4,000 hosts have to be on IPv4 loopback", async () => {
  const range = { start: 0x0a000000, end: 0x0a010000 };
  const hosts = drawFleet({ servers: 4001, range, seed: 1, software: ["bds"] });
  const options = { clock: systemClock, seed: 1, lab: [] };
  await assertRejects(() => openFleet(hosts, options), InputError, "more than 4000");
});
