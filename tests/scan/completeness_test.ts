import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { type Result, scanFleet } from "./scan_harness.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100080 };
/** All addresses have a server. */
const LIVE = { servers: 128, range: RANGE, seed: 3, software: ["bds"] };
const RAKNET = {
  protocolNames: ["raknet"],
  follow: false,
  faults: { loss: 0, duplication: 0, delay: 100, jitter: 0 }, // in each direction
};

/**
 * How long the scan continued after the last probe, milliseconds. Servers that replied are queried
 * again while nothing else replies.
 */
function rest({ network }: Result): number {
  const probes = Map.groupBy(network.sent, ({ to }) => formatEndpoint(to));
  return network.now() - Math.max(...probes.values().map(([{ at }]) => at));
}

const record = { prepare: (network: { record: boolean }) => void (network.record = true) };

Deno.test("a scan whose targets have all replied ends without a cooldown", async () => {
  const all = await scanFleet({ fleet: LIVE, ...RAKNET, ...record, retries: 0 });
  assertEquals(all.rows.length, 128);
  assert(rest(all) >= 200 && rest(all) < 260, `${rest(all)} ms after the last ping`);
});

Deno.test("an unresponsive target is waited for until the cooldown after the last probe ends", async () => {
  const fleet = { ...LIVE, servers: 127 };
  const one = await scanFleet({ fleet, ...RAKNET, ...record, retries: 0, cooldownMs: 3000 });
  assertEquals(one.rows.length, 127);
  assert(rest(one) >= 3000 && rest(one) < 3050, `${rest(one)}`);
});

Deno.test("a last pass without probes has no cooldown", async () => {
  const retried = await scanFleet({ fleet: LIVE, ...RAKNET, ...record, retries: 3 });
  assertEquals(retried.state.sent, 128, "no server is probed twice, except as a canary");
  // There are three pauses of a second between passes. All replies arrived in the first pause.
  assert(rest(retried) < 3000 + 100, `${rest(retried)}`);
});

for (const ports of [{ raknet: 19132, query: 25565 }, { raknet: 7, query: 7 }]) {
  const where = ports.raknet === ports.query ? "the same port" : "ports of their own";
  Deno.test(`retries probe only unresponsive targets, after the sweep, with two protocols on ${where}`, async () => {
    const range = { start: RANGE.start, end: RANGE.start + 64 };
    const { network, hosts, state } = await scanFleet({
      fleet: { servers: 24, range, seed: 3, software: ["bds"] },
      ...RAKNET,
      protocolNames: ["raknet", "query"],
      ports: (name) => [ports[name as "raknet" | "query"]],
      retries: 2,
      prepare: (network, hosts) => {
        network.record = true;
        // These servers reply only to pings, and on this port.
        for (const { endpoint: { address }, responder } of hosts) {
          network.host({ address, port: ports.raknet }, responder!);
        }
      },
    });
    const live = new Set(hosts.map(({ endpoint }) => endpoint.address));
    const queried = Object.groupBy(
      network.sent,
      ({ to, bytes }) => `${bytes[0] === 1 ? "ping" : "handshake"} ${formatEndpoint(to)}`,
    );
    assertEquals(Object.keys(queried).length, ports.raknet === ports.query ? 64 + 40 : 128);
    let again = 0;
    for (const [what, times = []] of Object.entries(queried)) {
      if (what.startsWith("ping") && live.has(times[0].to.address)) again += times.length - 1;
      else assertEquals(times.length, 3, what);
    }
    // While nothing replies, a server is queried every 2 s, to notice an outage.
    const quiet = (network.sent.at(-1)!.at - network.sent[0].at) / 2000;
    assert(again <= 0.01 * state.sent + quiet, `${again} canaries and queries`);
    // No target is probed again before all were probed.
    const pings = network.sent.filter(({ bytes }) => bytes[0] === 1);
    assertEquals(new Set(pings.slice(0, 64).map(({ to }) => to.address)).size, 64);
    assertEquals(pings.length - again, 64 + 2 * 40);
  });
}

Deno.test("duplicate, late and reordered replies give one row each", async () => {
  const fleet = { ...LIVE, software: ["bds", "vanilla"] };
  const faults = { loss: 0.1, duplication: 0.9, delay: 5, jitter: 900 };
  const { verdict, rows, state } = await scanFleet({
    fleet,
    faults,
    retries: 3,
    protocolNames: ["raknet", "query"],
  });
  const { valid: first, duplicate } = state.replies;
  assertEquals(verdict.faults.filter((fault) => fault.includes("twice")), []);
  assertEquals(new Set(rows.map(({ host, port }) => `${host}:${port}`)).size, rows.length);
  assert(first <= 128 && duplicate >= 10, `${first} valid, ${duplicate} duplicate`);
});
