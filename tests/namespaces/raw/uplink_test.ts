/**
 * The next hop, compared with the kernel's choice, and the gateway's MAC.
 *
 * Covers src/net/linux/netlink/uplink.ts and src/net/linux/netlink/netlink_request.ts.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { formatAddress } from "../../../src/core/address.ts";
import { mix } from "../../../src/core/bits.ts";
import { Endpoints } from "../../../src/core/endpoints.ts";
import { InputError } from "../../../src/core/errors.ts";
import { NetlinkError, requestNetlink } from "../../../src/net/linux/netlink/netlink_request.ts";
import { Libc } from "../../../src/net/linux/ffi/libc.ts";
import { encodeRouteRequest } from "../../../src/net/linux/netlink/rtnetlink.ts";
import { AddressesBehindGateway } from "../../../src/net/linux/netlink/routing_table.ts";
import { findGatewayMac, findUplink, NoUplink } from "../../../src/net/linux/netlink/uplink.ts";
import { GATEWAY, indexOf, OURS, system } from "./place.ts";

/** The address ranges of possible targets. */
const ALL = [{ start: 2 ** 24, end: 0x7f000000 }, { start: 2 ** 31, end: 0xe0000000 }];

Deno.test("the addresses behind the gateway are those that the kernel routes to it", () => {
  using libc = new Libc();
  const uplink = findUplink(libc, { targets: ALL });
  assertEquals([uplink.source, uplink.gateway], [OURS, GATEWAY]);
  assertEquals([uplink.interface.name, uplink.interface.mtu], ["near0", 1500]);
  const behind = new AddressesBehindGateway(uplink.ranges);
  const index = indexOf("near0");
  let seed = 5;
  const edges = uplink.ranges.flatMap(({ start, end }) => [start - 1, start, end - 1, end]);
  const drawn = Array.from({ length: 3000 }, (_, i) => {
    seed = mix(seed + 0x9e3779b9 | 0);
    return i % 2 === 0 ? seed >>> 0 : 0x0a500000 + (seed & 0x7ffff);
  });
  let found = 0;
  for (const address of [...edges, ...drawn].filter((one) => one > 0 && one < 2 ** 32)) {
    if (!ALL.some(({ start, end }) => start <= address && address < end)) continue;
    const is = behind.has(Endpoints.of({ address, port: 1 }), 0);
    if (is) found++;
    assertEquals(is, kernelSendsThere(libc, address, index), formatAddress(address));
  }
  assert(found > 500, `${found} were behind it`);
});

function kernelSendsThere(libc: Libc, address: number, index: number): boolean {
  try {
    const [reply] = requestNetlink(libc, encodeRouteRequest(address));
    if (reply === "done" || !("route" in reply)) throw new Error("the kernel has no route");
    const { gateway, interface: over, type } = reply.route;
    // If a route has several next hops, the kernel chooses one at random. Such routes are skipped.
    const isShared = address >>> 16 === 0x0a55;
    return !isShared && gateway === GATEWAY && over === index && type === 1;
  } catch (error) {
    if (error instanceof NetlinkError) return false; // a route of type blackhole or unreachable
    throw error;
  }
}

Deno.test("a message gives the reason without a route for frames", async () => {
  using libc = new Libc();
  const why = (targets: { start: number; end: number }[], over?: string) =>
    assertThrows(() => findUplink(libc, { targets, interface: over }), NoUplink).message;
  const one = (start: number) => [{ start, end: start + 1 }];
  assertEquals(why(one(0x7f000001)), "no target is behind a gateway");
  assertEquals(why(one(0x0a4f0007)), "no target is behind a gateway");
  assertEquals(why(one(0x0a4f0007), "near0"), "no target is behind a gateway over near0");
  assertEquals(why(ALL, "lo"), "lo is loopback");
  await system("ip link add dial0 type veth peer name dial1");
  await system("ip link set dial0 up");
  assertEquals(why(ALL, "dial0"), "no target is behind a gateway over dial0");
  await system("ip link delete dial0");
  await system("ip rule add fwmark 3 table 7");
  assertEquals(why(ALL).split(" (")[0], "the system has routing rules");
  await system("ip rule delete fwmark 3 table 7");
  const wrong = assertThrows(
    () => findUplink(libc, { targets: ALL, interface: "eth9" }),
    InputError,
  );
  assertEquals(
    wrong.message,
    'Cannot use --interface "eth9": no such interface; available: lo, far0, near0',
  );
});

Deno.test("the gateway's MAC is that of the ARP table, or of an ARP reply", async () => {
  using libc = new Libc();
  const uplink = findUplink(libc, { targets: ALL });
  const MAC = Uint8Array.of(2, 0, 0, 0, 0, 0xfe);
  assertEquals(await findGatewayMac(libc, uplink), MAC);
  await system("ip neighbour delete 10.79.0.254 dev near0");
  const unresponsive = await assertRejects(() => findGatewayMac(libc, uplink), InputError);
  assertEquals(
    unresponsive.message,
    "Cannot reach the gateway: 10.79.0.254 does not reply to ARP on near0; give its MAC with --gateway-mac",
  );
  await system("ip address add 10.79.0.254/32 dev far0");
  assertEquals(await findGatewayMac(libc, uplink), MAC);
  await system("ip address delete 10.79.0.254/32 dev far0");
  await system("ip neighbour replace 10.79.0.254 lladdr 02:00:00:00:00:fe dev near0");
});
