import { assertEquals } from "@std/assert";
import type { Endpoint } from "../../../../src/core/address.ts";
import { DeferredPorts } from "../../../../src/scan/inspect_stage/open_ports/deferred_ports.ts";

const port = (address: number | bigint, number: number, onFinished = () => {}) => ({
  endpoint: { address, port: 25565 },
  protocol: "slp",
  number,
  onFinished,
});
const free = () => false;
const allOf = (ports: DeferredPorts, isReturned: boolean) =>
  Array.from({ length: ports.size }, () => ports.take(free, isReturned)?.endpoint.address);

Deno.test("networks take turns, and those that have replied since are taken apart", () => {
  const ports = new DeferredPorts();
  for (const address of [1, 2, 3]) ports.add("a", port(address, address));
  for (const address of [2n ** 100n, 2n ** 101n]) ports.add("b", port(address, 9));
  assertEquals(ports.take(free, true), undefined);
  const [first, second] = [ports.take(free, false), ports.take(free, false)];
  assertEquals([typeof first?.endpoint.address, typeof second?.endpoint.address], [
    "number",
    "bigint",
  ]);
  assertEquals([first?.protocol, first?.endpoint.port, ports.size], ["slp", 25565, 3]);
  ports.move("a", false);
  ports.move("c", false);
  assertEquals(allOf(ports, true).filter((one) => one !== undefined).length, 2);
  ports.add("a", port(7, 10));
  ports.move("a", false);
  ports.move("a", true);
  assertEquals(ports.take(free, true), undefined);
  assertEquals(allOf(ports, false).map((one) => typeof one).toSorted(), ["bigint", "number"]);
});

Deno.test("ports of a busy host stay, and those of others are found among them", () => {
  const ports = new DeferredPorts();
  for (let i = 0; i < 1000; i++) {
    ports.add("a", { ...port(1, i), endpoint: { address: 1, port: 1000 + i } });
  }
  ports.add("a", port(2, 1000));
  const isBusy = ({ address }: Endpoint) => address === 1;
  let [taken, tries] = [ports.take(isBusy, false), 1];
  for (; taken === undefined; tries++) taken = ports.take(isBusy, false);
  assertEquals([taken.endpoint.address, ports.size, tries <= 17], [2, 1000, true]);
});

Deno.test("the oldest sighting is finished after all ports, and the others at once", () => {
  const ports = new DeferredPorts();
  const finished: number[] = [];
  const add = (number: number) =>
    ports.add("a", port(number, number, () => void finished.push(number)));
  for (const number of [5, 6, 3, 4]) add(number); // 3 waited before its network became unresponsive
  assertEquals(finished, [6, 5, 4]);
  assertEquals(allOf(ports, false).length, 4);
  for (let i = 0; i < 3; i++) ports.finish();
  assertEquals(finished, [6, 5, 4]);
  ports.finish();
  assertEquals(finished, [6, 5, 4, 3]);
  add(8);
  ports.clear();
  assertEquals([ports.size, ports.take(free, false), finished.length], [0, undefined, 4]);
});

Deno.test("a full queue takes no port", () => {
  const ports = new DeferredPorts(2);
  assertEquals([1, 2, 3].map((i) => ports.add("a", port(i, i))), [true, true, false]);
  ports.take(free, false);
  assertEquals(ports.add("a", port(3, 3)), true);
});
