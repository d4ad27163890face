import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { countPositions, planScanPasses } from "../../../src/scan/plan/pass_plan.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import type { Mark } from "../../../src/sweep/mark_history.ts";
import { CONNECTION_ORDERS, type Pass } from "../../../src/sweep/passes.ts";
import { compose } from "../../../src/targets/compose.ts";
import { PORTS, selectionFor } from "../scan_harness.ts";

const START: Mark = { pass: 1, position: 0 };
const ADDRESSES = compose([{ range: { start: 0x7f000000, end: 0x7f000100 }, port: undefined }], {
  never: [],
  private: [],
  chosen: [],
});

/** The plan of a scan with one retry, and its counts before the first pass. */
function plan(names: readonly string[], from = { udp: START, tcp: START }) {
  const protocols = PROTOCOLS.filter(({ name }) => names.includes(name));
  const targets = { addresses: ADDRESSES, protocols, ports: (name: string) => PORTS[name] };
  const state = newState("", 0);
  const selection = selectionFor(targets, { from });
  const passes = planScanPasses({ ...selection, limits: { retries: 1, timeoutMs: 1500 } });
  countPositions(passes, { ...selection, io: { state } });
  return { passes, state };
}

const shown = (passes: readonly Pass[]) => passes.map((one) => `${one.protocol} ${one.number}`);

Deno.test("each protocol gets a pass and one for each retry, over its transport", () => {
  const { passes, state } = plan(["raknet", "slp", "query"]);
  assertEquals(passes.detectionPasses, []);
  assertEquals(shown(passes.udp), ["raknet 1", "raknet 2", "query 3", "query 4"]);
  const orders = [1, 2].map((one) => `slp ${CONNECTION_ORDERS + one}`);
  assertEquals(shown(passes.tcp), orders);
  assertEquals([state.passes, state.tcp.passes, state.total], [4, 2, 6 * 256]);
  assertEquals([state.visited, state.pass], [0, 0]);
});

Deno.test("a detecting pass for the suppressor precedes a suppressible protocol, on its ports", () => {
  const { passes, state } = plan(["sqp"]);
  assertEquals([shown(passes.detectionPasses), shown(passes.udp)], [["raknet 1", "raknet 2"], [
    "sqp 1",
    "sqp 2",
  ]]);
  assertEquals(passes.kinds.map(({ protocol }) => protocol), ["sqp"]);
  assertEquals(passes.allKinds.map(({ protocol }) => protocol), ["raknet", "sqp"]);
  assertEquals(passes.gapMs, 1500); // RakNet servers have this time to reply
  assertEquals([state.passes, state.total], [2, 4 * 256]);
});

Deno.test("a resumed scan counts what its earlier run visited, over each transport", () => {
  const udp = { pass: 2, position: 100 };
  const { state } = plan(["raknet", "slp"], { udp, tcp: { pass: 3, position: 0 } });
  assertEquals([state.total, state.visited], [4 * 256, 256 + 100 + 2 * 256]);
  const { pass, size, position } = state.tcp; // these passes are over
  assertEquals([pass, size, position, state.pass], [2, 256, 256, 0]);
});

Deno.test("a protocol that other servers log comes last, unless all its ports are its usual ones", () => {
  const [slp] = PROTOCOLS.filter(({ name }) => name === "slp");
  const noisy = { ...slp, name: "noisy", lastElsewhere: true, ports: { 4: [19132], 6: [19132] } };
  const orderFor = (addresses: typeof ADDRESSES, ports: () => number[]) => {
    const targets = { addresses, protocols: [noisy, slp], ports };
    const limits = { retries: 0, timeoutMs: 1500 };
    const { tcp } = planScanPasses({ ...selectionFor(targets), limits });
    return tcp.map(({ protocol }) => protocol);
  };
  const order = (...ports: number[]) => orderFor(ADDRESSES, () => ports);
  assertEquals(order(19132), ["noisy", "slp"]);
  assertEquals(order(25565), ["slp", "noisy"]);
  assertEquals(order(19132, 25565), ["slp", "noisy"]);
  // targets that name their port, as those in a list of another scanner
  const listed = (...ports: number[]) =>
    orderFor({
      ...ADDRESSES,
      groups: ADDRESSES.groups.map((group) => ({ ...group, usesScanPorts: false, ports })),
    }, () => [19132]);
  assertEquals(listed(19132), ["noisy", "slp"]);
  assertEquals(listed(25565), ["slp", "noisy"]);
});
