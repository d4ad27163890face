/** Covers src/scan/setup/scan_state.ts. */
import { assertEquals } from "@std/assert";
import { type DatagramSocket, noErrors } from "../../../src/net/socket.ts";
import type { ScanIo } from "../../../src/scan/setup/scan_setup.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { SocketCounts } from "../../../src/scan/tables/socket_counts.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { FakeStreams } from "../../../src/testing/fake_streams.ts";

Deno.test("counters of all sockets are added up, and shared counters count once", async () => {
  const [shared, own] = [noErrors(), noErrors()];
  const sockets = [shared, own, shared].map((errors) => ({
    errors,
    receiveBuffer: 100,
    dropped: 0,
  }));
  const reported: string[] = [];
  const network = new FakeNetwork(1);
  const dialer = new FakeStreams(network, 1);
  dialer.errors.set("ENETUNREACH", 5);
  const state = { ...newState("", 0), dropped: 7 }; // of an earlier run
  const counts = new SocketCounts({
    io: { clock: network, state, threads: 2, dialer } as Partial<ScanIo> as ScanIo,
    hooks: { onTrouble: (code, kind) => void reported.push(`${code} ${kind}`) },
  }, sockets as Partial<DatagramSocket>[] as DatagramSocket[]);
  assertEquals([state.threads, state.receiveBuffer], [2, 300]);
  counts.update();
  assertEquals([state.errors, state.waits, state.dropped, reported], [{}, {}, 7, []]);
  shared.send.set("EPERM", 2);
  own.send.set("EPERM", 3);
  own.waits.set("ENETDOWN", 1);
  sockets[0].dropped = 4;
  sockets[1].dropped = 1;
  dialer.errors.set("ENETUNREACH", 7).set("ETIMEDOUT", 9);
  for (const _ of [1, 2]) {
    counts.update();
    const { errors, waits, dropped } = state;
    assertEquals({ errors, waits, dropped }, {
      errors: { EPERM: 5 },
      waits: { ENETDOWN: 1 },
      dropped: 12,
    });
    assertEquals(state.tcp.unrouted, 2);
    assertEquals(reported, ["EPERM refused", "ENETDOWN waits"]);
  }
  shared.waits.set("EPERM", 1);
  counts.start();
  await network.run(new Promise<void>((resolve) => network.after(20, resolve)));
  assertEquals(reported.at(-1), "EPERM waits");
  sockets[0].dropped = 5;
  counts.end();
  assertEquals(state.dropped, 13);
  sockets[0].dropped = 6;
  await network.run(new Promise<void>((resolve) => network.after(100, resolve)));
  assertEquals(state.dropped, 13);
});

Deno.test("every counter of a scan begins at zero", () => {
  const numbers = (value: unknown): number[] => {
    if (typeof value === "number") return [value];
    return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbers) : [];
  };
  assertEquals(new Set(numbers(newState("scan", 0))), new Set([0]));
});
