/** A LAN discovery on a fake network, for the tests of `lan`. */
import { assertEquals } from "@std/assert";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../../src/fleet/random.ts";
import { DISCOVERY_PORT } from "../../../src/protocols/lan/mod.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import { raknetProtocol } from "../../../src/protocols/raknet/mod.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import type { DiscoverySetup, LanEnd } from "../../../src/scan/lan/discovery_setup.ts";
import { FoundServers } from "../../../src/scan/lan/found_servers.ts";
import { discover } from "../../../src/scan/lan/lan_discovery.ts";
import type { FakeNetwork } from "../../../src/testing/fake_network.ts";

export const HOME = { address: 0xc0a80105, netmask: 0xffffff00 };
export const OFFICE = { address: 0x0a000005, netmask: 0xff000000 };
export const LINK = { address: 0xfe80n << 112n | 5n, zone: "eth0", index: 2, networks: [] };
/** The value in the command `lan`. */
const HOST_RATE = 5;
const ALL_NODES = 0xff02n << 112n | 1n;

/** Runs a discovery on a fake network. */
export async function lookAround(
  network: FakeNetwork,
  over: Partial<DiscoverySetup> = {},
): Promise<ServerRecord[]> {
  return (await lookAroundWell(network, over)).found;
}

export async function lookAroundWell(
  network: FakeNetwork,
  over: Partial<DiscoverySetup>,
): Promise<LanEnd & { found: ServerRecord[] }> {
  network.record = true;
  network.broadcasts.push(0xffffffff, ALL_NODES);
  const random = new Random(1);
  const found: ServerRecord[] = [];
  const end = await network.run(
    discover({
      allProtocols: PROTOCOLS,
      networks: [HOME],
      protocol: raknetProtocol as DiscoverySetup["protocol"],
      protocols: USUAL_PROTOCOLS,
      ports: { 4: [19132], 6: [19133] },
      listenMs: 3000,
      continuous: false,
      servers: new FoundServers(),
      counts: { sent: 0, replies: 0 },
      timeoutMs: 1000,
      retries: 1,
      open: ({ address }) => network.open(typeof address === "number" ? 4 : 6, address),
      token: 0x12345678,
      nonce: () => random.u64() >> 1n,
      optsOut: (motd) => motd.includes("§b§d§f§d§b"),
      players: true,
      scanId: "scan",
      clock: network,
      signal: new AbortController().signal,
      onServer: (record) => found.push(record),
      ...over,
    }),
  );
  const lines = network.lines.filter(({ host }) => !host.endsWith(`:${DISCOVERY_PORT}`));
  assertEquals(audit(lines, { hostRate: HOST_RATE }), []);
  return { ...end, found };
}

/** Servers of these kinds at consecutive addresses from .10 on. */
export function put(network: FakeNetwork, start: number, ...software: string[]): void {
  software.forEach((name, i) => {
    const range = { start: start + i, end: start + i + 1 };
    const [{ endpoint, responder }] = drawFleet({
      servers: 1,
      range,
      seed: 5 + i,
      software: [name],
    });
    network.host(endpoint, responder!);
  });
}
