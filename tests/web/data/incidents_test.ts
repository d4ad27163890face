/** Incidents contain each change once, and each has the smallest network of its changes. */
import { assert, assertEquals } from "@std/assert";
import { type Address, parseAddress } from "../../../src/core/address.ts";
import { Random } from "../../../src/fleet/random.ts";
import { parseNetwork } from "../../../src/store/queries/network_filter.ts";
import { groupChanges, type StateChange } from "../../../src/web/data/incidents.ts";

const START = Date.UTC(2026, 0, 31, 17, 13);
const MINUTE = 60_000;

function change(
  server: number,
  host: string,
  seconds: number,
  isDown = true,
): StateChange {
  return { server, address: parseAddress(host)!, at: START + 1000 * seconds, isDown };
}

/** The groups as texts: network, number of changes, number of returns. */
function summary(changes: readonly StateChange[]): string[] {
  return groupChanges(changes).map(({ network, starts, returns }) =>
    `${network}: ${starts.length}${starts[0].isDown ? " down" : " up"}, ${returns.length} back`
  );
}

Deno.test("the servers of a network that go offline within a minute are one incident", () => {
  const down = Array.from(
    { length: 108 },
    (_, i) => change(i, `127.16.${32 + i % 32}.${i}`, i % 50),
  );
  assertEquals(summary(down), ["127.16.32.0/19: 108 down, 0 back"]);
  const back = down.slice(0, 100).map((one) => ({
    ...one,
    at: one.at + 29 * MINUTE,
    isDown: false,
  }));
  assertEquals(summary([...back, ...down]), ["127.16.32.0/19: 108 down, 100 back"]);
});

Deno.test("a server elsewhere, at another time or without a known address is another incident", () => {
  const down = Array.from({ length: 20 }, (_, i) => change(i, `10.1.2.${i}`, i));
  const others = [
    change(100, "10.1.200.1", 5),
    change(101, "10.2.2.1", 5),
    change(102, "10.1.2.102", 200),
    { server: 103, address: null, at: START, isDown: true },
    change(104, "10.1.2.104", 5, false),
    change(105, "2001:db8::1", 5),
  ];
  assertEquals(summary([...down, ...others]).sort(), [
    "10.1.2.0/24: 20 down, 0 back",
    "10.1.2.102: 1 down, 0 back",
    "10.1.2.104: 1 up, 0 back",
    "10.1.200.1: 1 down, 0 back",
    "10.2.2.1: 1 down, 0 back",
    "2001:db8::1: 1 down, 0 back",
    "null: 1 down, 0 back",
  ]);
});

Deno.test("two servers of an address are one incident, two of a /16 are two", () => {
  assertEquals(summary([change(1, "10.0.0.1", 0), change(2, "10.0.0.1", 1)]), [
    "10.0.0.1: 2 down, 0 back",
  ]);
  assertEquals(summary([change(1, "10.0.0.1", 0), change(2, "10.0.128.1", 1)]).length, 2);
});

/** Random changes: outages of networks, single servers, repeated events, unknown servers. */
function randomChanges(random: Random): StateChange[] {
  const changes: StateChange[] = [];
  for (let i = random.below(8); i >= 0; i--) {
    const isV6 = random.chance(0.2);
    const base = isV6
      ? BigInt(random.below(3)) << 96n | BigInt(random.below(4)) << 64n
      : 0x0a000000 + random.below(2) * 65_536 + random.below(4) * 8192;
    const at = START + random.below(3) * MINUTE + random.below(40_000);
    const span = 1 + random.below(isV6 ? 1000 : 8192);
    for (let n = random.below(30); n >= 0; n--) {
      const address: Address = typeof base === "bigint"
        ? base + BigInt(random.below(span))
        : base + random.below(span);
      const isKnown = !random.chance(0.05);
      const down = {
        server: isKnown ? random.below(200) : null,
        address: isKnown ? address : null,
        at: at + random.below(90_000),
        isDown: !random.chance(0.2),
      };
      changes.push(down);
      if (random.chance(0.5)) {
        changes.push({ ...down, at: down.at + random.below(600_000), isDown: false });
      }
    }
  }
  return changes;
}

Deno.test("incidents contain exactly the changes, in their smallest networks", () => {
  const random = new Random(41);
  for (let round = 0; round < 400; round++) {
    const changes = randomChanges(random);
    const groups = groupChanges(changes);
    const grouped = groups.flatMap(({ starts, returns }) => [...starts, ...returns]);
    assertEquals(grouped.length, changes.length);
    assertEquals(new Set(grouped), new Set(changes));
    for (const { network, starts, returns } of groups) {
      assert(starts.every(({ isDown }) => isDown === starts[0].isDown));
      assert(returns.every(({ isDown }) => !isDown));
      assert(
        returns.every(({ server, at }) =>
          starts.some((one) => one.server === server && one.isDown && one.at <= at)
        ),
      );
      starts.slice(1).forEach((one, i) =>
        assert(one.at >= starts[i].at && one.at - starts[i].at <= MINUTE)
      );
      const addresses = starts.map(({ address }) => address);
      assertEquals(network === null, addresses[0] === null);
      if (network === null) continue;
      const { start, end } = parseNetwork(network);
      assert(addresses.every((one) => one! >= start && one! < end), network);
      const half = BigInt(start) + (BigInt(end) - BigInt(start)) / 2n;
      const length = Number(network.split("/")[1] ?? 128);
      const longest = typeof start === "number" ? 24 : 64;
      const isSmallest = length >= longest ||
        addresses.some((one) => BigInt(one!) < half) &&
          addresses.some((one) => BigInt(one!) >= half);
      assert(isSmallest, network);
      assert(length >= (typeof start === "number" ? 16 : 32), network);
    }
  }
});
