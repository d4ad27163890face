/** Covers src/scan/inspect_stage/sighting_queue.ts and src/scan/inspect_stage/sighting_admission.ts. */
import { assertEquals } from "@std/assert";
import { EndpointSet } from "../../../src/core/endpoint_set.ts";
import type { Sighting } from "../../../src/core/record.ts";
import { LowWaterMark, START } from "../../../src/scan/setup/low_water_mark.ts";
import { EarlyStop } from "../../../src/scan/tables/early_stop.ts";
import { OptedOutAddresses } from "../../../src/scan/tables/opted_out_addresses.ts";
import { SightingAdmission } from "../../../src/scan/inspect_stage/sighting_admission.ts";
import { SightingQueue } from "../../../src/scan/inspect_stage/sighting_queue.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { SuppressionTable } from "../../../src/scan/tables/suppression_table.ts";
import { Responders } from "../../../src/sweep/responders.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

const later = (pass: number) => ({ ...START, udp: { pass, position: 0 } });

/** An empty queue, its admission, and the tables that they change. */
function scene() {
  const rows: { whenFree: Promise<void> | undefined } = {
    whenFree: undefined,
  };
  const tables = {
    interviewed: new EndpointSet(1),
    probed: { has: () => true },
    lowWater: new LowWaterMark(START),
    responders: new Responders(1),
    optedOut: new OptedOutAddresses([], 1),
    suppression: new SuppressionTable([], 1),
    stop: new EarlyStop(new AbortController().signal, new FakeNetwork(1)),
  };
  const state = newState("", 0);
  const optOuts = {
    search: () => undefined,
    recordWhenSaved: () => {},
  };
  const queue = new SightingQueue(tables, rows, state);
  const admission = new SightingAdmission(queue, tables, state, optOuts);
  return { rows, tables, state, queue, admission };
}

function sighting(port: number, verified = true): Sighting {
  const endpoint = { address: 0x7f000001, port };
  return { endpoint, protocol: "raknet", verified, at: 0, socket: 0 };
}

Deno.test("a full queue makes the sweep wait, and still takes every sighting", () => {
  const { queue, admission, state } = scene();
  for (let port = 1; port <= 4096; port++) admission.push(sighting(port));
  assertEquals(queue.isFull, false);
  for (let port = 4097; port <= 5000; port++) admission.push(sighting(port));
  assertEquals([queue.isFull, state.inspecting], [true, 5000]);
  const ports: number[] = [];
  for (let one = queue.take(); one !== undefined; one = queue.take()) {
    if ("sighting" in one) ports.push(one.sighting.endpoint.port);
    assertEquals(queue.isFull, ports.length <= 904, `${ports.length}`); // interviews count too
    queue.finish(one);
  }
  assertEquals(ports, Array.from({ length: 5000 }, (_, i) => i + 1));
  assertEquals(state.inspecting, 0);
});

Deno.test("replies are not read while sightings wait to be taken, or rows to be written", async () => {
  const { queue, admission, rows } = scene();
  for (let port = 1; port < 256; port++) admission.push(sighting(port));
  assertEquals(queue.whenReadable, undefined);
  admission.push(sighting(256));
  let isRoom = false;
  const waiting = queue.whenReadable!.then(() => isRoom = true);
  await Promise.resolve();
  assertEquals(isRoom, false);
  queue.take();
  await waiting;
  assertEquals([isRoom, queue.whenReadable], [true, undefined]);
  rows.whenFree = Promise.resolve();
  assertEquals([queue.whenReadable, queue.isFull], [rows.whenFree, true]);
});

Deno.test("an unproved endpoint counts as interviewed until its sighting is finished", () => {
  const { queue, admission, tables } = scene();
  const one = sighting(1, false);
  admission.push(one);
  assertEquals(tables.interviewed.has(one.endpoint), true);
  const taken = queue.take()!;
  assertEquals(tables.interviewed.has(one.endpoint), true);
  queue.finish(taken);
  assertEquals(tables.interviewed.has(one.endpoint), false);
});

Deno.test("the low-water mark passes no unfinished sighting", () => {
  const { queue, admission, tables: { lowWater } } = scene();
  admission.push(sighting(1));
  assertEquals(lowWater.note(later(2)), START);
  const taken = queue.take()!;
  queue.finish(taken); // a finished interview does not mean a written row
  assertEquals(lowWater.note(later(3)), START);
  taken.onFinished();
  assertEquals(lowWater.note(later(4)), later(4));
});

Deno.test("a queue is idle when all taken sightings are finished, and closed by close()", async () => {
  const { queue, admission } = scene();
  await queue.idle();
  admission.push(sighting(1));
  assertEquals(await queue.arrival(), true);
  const taken = queue.take()!;
  let isIdle = false;
  const idle = queue.idle().then(() => isIdle = true);
  await Promise.resolve();
  assertEquals(isIdle, false);
  queue.finish(taken);
  await idle;
  const arrival = queue.arrival();
  queue.close();
  assertEquals(await arrival, false);
});

Deno.test("a sighting that waits for a hold is queued when a hold is free, or omitted", () => {
  const { queue, admission, tables: { responders }, state } = scene();
  const held = Array.from({ length: 64 }, (_, i) => sighting(i + 1, false));
  for (const { endpoint } of held) assertEquals(responders.hold(endpoint), "held");
  state.replies.unverified = 2; // as the receiver counts them
  for (const port of [65, 66]) admission.pushWhenHeld(sighting(port, false));
  assertEquals(state.inspecting, 0);
  responders.add(held[0].endpoint);
  const next = queue.take()!;
  assertEquals("sighting" in next && next.sighting.endpoint.port, 65);
  for (const { endpoint } of held) responders.ended(endpoint);
  if ("sighting" in next) responders.ended(next.sighting.endpoint);
  assertEquals([state.replies.unverified, state.replies.omitted, state.inspecting], [1, 1, 1]);
  assertEquals(state.omittedAt.map(({ endpoint }) => endpoint.port), [66]);
});
