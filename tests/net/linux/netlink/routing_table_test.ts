/** The addresses behind a gateway, compared with a lookup for each address. */
import { assertEquals } from "@std/assert";
import { mix } from "../../../../src/core/bits.ts";
import { Endpoints } from "../../../../src/core/endpoints.ts";
import type { Ipv4Route, RoutingRule } from "../../../../src/net/linux/netlink/rtnetlink.ts";
import {
  AddressesBehindGateway,
  areDefaultRules,
  findNextHop,
} from "../../../../src/net/linux/netlink/routing_table.ts";

const GATEWAY = 0x0a0900fe;

function route(to: number, bits: number, change: Partial<Ipv4Route> = {}): Ipv4Route {
  return {
    to,
    bits,
    table: 254,
    service: 0,
    type: 1,
    isDead: false,
    metric: 0,
    interface: 3,
    gateway: undefined,
    source: undefined,
    isDetour: false,
    ...change,
  };
}

const via = (to: number, bits: number, change: Partial<Ipv4Route> = {}) =>
  route(to, bits, { gateway: GATEWAY, ...change });
const own = (to: number, bits: number) => route(to, bits, { table: 255, type: 2, interface: 1 });
const ALL = [{ start: 0, end: 2 ** 32 }];

/** The route of an address, by a linear search. */
function lookUp(routes: readonly Ipv4Route[], address: number): Ipv4Route | undefined {
  for (const table of [255, 254]) {
    const fitting = routes.filter((one) =>
      one.table === table && !one.isDead && one.service === 0 &&
      Math.floor(address / 2 ** (32 - one.bits)) === Math.floor(one.to / 2 ** (32 - one.bits))
    );
    const [best] = fitting.sort((a, b) => b.bits - a.bits || a.metric - b.metric);
    if (best !== undefined) return best;
  }
}

Deno.test("a next hop has the addresses of its routes, and none of other routes", () => {
  const routes = [
    via(0, 0),
    route(0x0a090000, 24),
    own(0x0a090001, 32),
    own(0x7f000000, 8),
    route(0x0a510000, 16, { type: 6, interface: 0 }),
    via(0x0a510100, 24),
  ];
  const way = findNextHop(routes, ALL)!;
  assertEquals([way.gateway, way.interface], [GATEWAY, 3]);
  const behind = new AddressesBehindGateway(way.ranges);
  const lookups: [address: number, isBehind: boolean][] = [
    [0, true],
    [0x0a08ffff, true],
    [0x0a090000, false],
    [0x0a0900ff, false],
    [0x0a090100, true],
    [0x0a510000, false],
    [0x0a5100ff, false],
    [0x0a510100, true],
    [0x0a5101ff, true],
    [0x0a510200, false],
    [0x0a520000, true],
    [0x7effffff, true],
    [0x7f000000, false],
    [0x7fffffff, false],
    [0x80000000, true],
    [0xffffffff, true],
  ];
  for (const [address, isBehind] of [...lookups, ...lookups.toReversed()]) {
    const targets = Endpoints.of({ address, port: 1 });
    assertEquals(behind.has(targets, 0), isBehind, address.toString(16));
  }
});

Deno.test("for any routes, each address has the next hop of the linear search", () => {
  let seed = 7;
  const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
  for (let round = 0; round < 200; round++) {
    const routes = Array.from({ length: next() % 40 }, () => {
      const bits = [0, 1, 8, 12, 16, 20, 24, 31, 32][next() % 9];
      const size = 2 ** (32 - bits);
      return route(Math.floor(next() % 2 ** 20 * 4096 / size) * size, bits, {
        gateway: [undefined, GATEWAY, 9][next() % 3],
        table: next() % 5 === 0 ? 255 : 254,
        type: next() % 6 === 0 ? 6 : 1,
        metric: next() % 1e9,
        isDead: next() % 9 === 0,
        interface: 3 + next() % 2,
        isDetour: next() % 9 === 0,
        service: next() % 9 === 0 ? 8 : 0,
      });
    });
    const edges = routes.flatMap(({ to, bits }) => [to - 1, to, to + 2 ** (32 - bits)])
      .filter((address) => address >= 0 && address < 2 ** 32);
    const way = findNextHop(routes, ALL);
    const behind = new AddressesBehindGateway(way?.ranges ?? []);
    for (const address of [...edges, ...Array.from({ length: 50 }, next)]) {
      const found = lookUp(routes, address);
      const wanted = way !== undefined && found?.gateway === way.gateway &&
        found.interface === way.interface && found.type === 1 && !found.isDetour;
      assertEquals(behind.has(Endpoints.of({ address, port: 1 }), 0), wanted);
    }
  }
});

Deno.test("the next hop with the most targets is chosen, or the one of the named interface", () => {
  const routes = [via(0, 0), via(0x0a000000, 8, { gateway: 7, interface: 4 })];
  const targets = [{ start: 0x09ffff00, end: 0x0a000000 }, { start: 0x0a000000, end: 0x0a001000 }];
  const found = (over?: number) => {
    const { gateway, targets: count, target } = findNextHop(routes, targets, over)!;
    return [gateway, count, target];
  };
  assertEquals(found(), [7, 4096, 0x0a000000]);
  assertEquals(found(3), [GATEWAY, 256, 0x09ffff00]);
  assertEquals(findNextHop(routes, targets, 5), undefined);
  assertEquals(findNextHop(routes, []), undefined);
  assertEquals(findNextHop([route(0x0a000000, 8), own(1, 32)], targets), undefined);
});

Deno.test("the routing table is used only with the default rules", () => {
  const usual: RoutingRule[] = [[0, 255], [32766, 254], [32767, 253]]
    .map(([priority, table]) => ({ priority, table, isForAll: true }));
  assertEquals(areDefaultRules(usual), true);
  assertEquals(areDefaultRules(usual.slice(0, 2)), true);
  assertEquals(areDefaultRules([]), true); // a kernel without rules
  assertEquals(areDefaultRules(usual.slice(0, 1)), false);
  assertEquals(areDefaultRules(usual.slice(1)), false);
  assertEquals(areDefaultRules([...usual, { priority: 40_000, table: 7, isForAll: true }]), false);
  assertEquals(areDefaultRules([{ ...usual[0], isForAll: false }, ...usual.slice(1)]), false);
});
