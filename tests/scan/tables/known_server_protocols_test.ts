/** Scans with servers that were known before. */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../../src/fleet/random.ts";
import { drawIdentity } from "../../../src/fleet/simulate/server_identity.ts";
import { SqpServer } from "../../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../../src/fleet/simulate/sqp/sqp_styles.ts";
import { coverageOf } from "../../../src/scan/plan/coverage.ts";
import { compose } from "../../../src/targets/compose.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { type Result, scanFleet, selectionFor, type Setting } from "../scan_harness.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100040 };
const FLEET = { servers: 30, range: RANGE, seed: 5, software: ["sqpFull", "sqpInfo", "bds"] };
const ports = () => [9000, 19132];

const HOSTS = drawFleet(FLEET).map(({ endpoint, entry }) => ({
  endpoint,
  isSqp: "sqp" in entry.truth,
}));
const UNITY = HOSTS.filter(({ isSqp }) => isSqp).map(({ endpoint }) => endpoint);
const first = HOSTS.map(({ endpoint }) => endpoint);
const known = HOSTS.map(({ endpoint, isSqp }) => ({
  endpoint,
  protocols: [isSqp ? "sqp" : "raknet"],
}));
const knownForSqp = new Set(UNITY.map(formatEndpoint));

/** Scans the fleet again in the default protocols, and audits the datagrams that it received. */
async function rescan(over: Partial<Setting> = {}): Promise<Result> {
  const result = await scanFleet({
    ...{ fleet: FLEET, ports, first, known, queriesKnown: true, timeoutMs: 300 },
    ...over,
    prepare: (network, hosts, streams) => {
      network.record = true;
      over.prepare?.(network, hosts, streams);
    },
  });
  assertEquals(audit(result.network.lines, { knownForSqp }), []);
  return result;
}

const toUnity = ({ network }: Result) =>
  network.sent.filter(({ to }) => knownForSqp.has(formatEndpoint(to)));

Deno.test("rescan: servers known for SQP are queried in SQP and not pinged", async () => {
  const result = await rescan();
  assert(UNITY.length > 2 && UNITY.length < 28, String(UNITY.length));
  const protocols = result.rows.map(({ protocols }) => protocols.join());
  assertEquals(protocols.filter((one) => one === "sqp").length, UNITY.length);
  assertEquals(protocols.filter((one) => one === "raknet").length, 30 - UNITY.length);
  const { state, end } = result;
  assertEquals([state.written, state.replies.forged, end.reason], [30, 0, "done"]);
  assert(toUnity(result).every(({ bytes }) => bytes.length !== 33));
});

Deno.test("rescan: an unresponsive server known for SQP is probed as often as others, and never pinged", async () => {
  const [dead] = UNITY;
  const result = await rescan({
    prepare: (network) => network.host(dead, { respond: () => [] }),
  });
  assertEquals(result.rows.length, 29);
  const sent = result.network.sent.filter(({ to }) => formatEndpoint(to) === formatEndpoint(dead));
  assertEquals(sent.map(({ bytes }) => bytes.length), [5, 5]);
  assertEquals(result.state.replies.forged, 0);
});

Deno.test("rescan: no more SQP is sent to a server that replies in another protocol", async () => {
  const [changed] = UNITY;
  const { network, rows } = await rescan({
    prepare: (network) => network.host(changed, { respond: () => [Uint8Array.of(0x1c, 1)] }),
  });
  assertEquals(rows.length, 29);
  const sent = network.sent.filter(({ to }) => formatEndpoint(to) === formatEndpoint(changed));
  assertEquals(sent.map(({ bytes }) => bytes.length), [5]);
});

Deno.test("rescan: nothing is sent to servers known for SQP if only other protocols are selected", async () => {
  const result = await rescan({ queriesKnown: false });
  assertEquals([toUnity(result), result.rows.length], [[], 30 - UNITY.length]);
  const named = await rescan({ queriesKnown: false, protocolNames: ["raknet", "sqp"] });
  assertEquals(named.rows.length, 30);
});

Deno.test("rescan: servers that opted out, are excluded, replied before or exceed the limit are not probed", async () => {
  const all = (range: typeof RANGE) => rescan(range === RANGE ? { optedOut: [range] } : {});
  assertEquals(toUnity(await all(RANGE)), []);
  assertEquals(toUnity(await rescan({ responders: UNITY })), []);
  const { address } = UNITY[0];
  const one = { start: address as number, end: address as number + 1 };
  const without = toUnity(await rescan({ excluded: [one] }));
  assert(without.length > 0 && without.every(({ to }) => to.address !== address));
  const { network } = await rescan({ maxTargets: 10 });
  assertEquals(new Set(network.sent.map(({ to }) => formatEndpoint(to))).size, 10);
});

Deno.test("rescan: a server known for SQP whose name opts out is dropped, and recorded", async () => {
  const identity = {
    ...drawIdentity(new Random(1)),
    motd: { text: "§b§d§f§d§bShy", plain: "Shy" },
  };
  const shy = new SqpServer(SQP_STYLES.sqpFull, identity, new Random(2));
  const { rows, optedOut } = await rescan({ prepare: (network) => network.host(UNITY[0], shy) });
  assertEquals([rows.length, optedOut], [29, [UNITY[0].address]]);
});

Deno.test("a rescan covers Unity servers in SQP, and other known servers in the protocols of the scan only", () => {
  const inclusion = { range: RANGE, port: undefined };
  const targets = {
    addresses: compose([inclusion], { never: [], private: [], chosen: [] }),
    protocols: PROTOCOLS.filter(({ name }) => name === "raknet"),
    ports,
    known,
    queriesKnown: true,
  };
  const { includes } = coverageOf(selectionFor(targets, { seed: 1, first }));
  const [{ address, port }] = UNITY;
  assertEquals(includes(address, port, ["sqp"]), true);
  const other = first.find((one) => !UNITY.includes(one))!;
  assertEquals(includes(other.address, other.port, ["raknet", "query"]), false);
  assertEquals(includes(other.address, other.port, ["raknet"]), true);
});
