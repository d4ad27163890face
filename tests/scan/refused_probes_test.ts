/** Scans whose probes the system refuses: src/scan/scan.ts. */
import { assertEquals } from "@std/assert";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { scanFleet } from "./scan_harness.ts";

const FLEET = { servers: 0, range: { start: 0x7f100000, end: 0x7f100010 }, seed: 3 };

/** A network whose system refuses the first batches of a scan. */
function refusing(batches: number): FakeNetwork {
  const network = new FakeNetwork(1);
  const open = network.open.bind(network);
  let left = batches;
  network.open = (family) => {
    const socket = open(family);
    const flush = socket.flush.bind(socket);
    return Object.assign(socket, { flush: (batch: never) => left-- > 0 ? 0 : flush(batch) });
  };
  return network;
}

Deno.test("a scan whose probes were all refused by the system is incomplete, and stays at its start", async () => {
  const setting = { fleet: FLEET, protocolNames: ["raknet"] };
  const { state, end } = await scanFleet({ ...setting, network: refusing(Infinity) });
  assertEquals([state.sent, state.refused > 0], [0, true]);
  assertEquals([end.reason, end.marks.udp], ["incomplete", { pass: 1, position: 0 }]);
  const both = { fleet: FLEET, protocolNames: ["raknet", "slp"], network: refusing(Infinity) };
  const { end: { marks } } = await scanFleet(both);
  assertEquals(marks.tcp.pass, 2 + 1, "closed ports were reached over TCP");
});

Deno.test("a scan is done if the system refused only some probes", async () => {
  const setting = { fleet: FLEET, protocolNames: ["raknet"] };
  const { state, end } = await scanFleet({ ...setting, network: refusing(1) });
  assertEquals([state.sent > 0, state.refused > 0, end.reason], [true, true, "done"]);
});
