import { assertEquals } from "@std/assert";
import { openPortSockets } from "../../../src/app/engines/scan_sockets.ts";
import { systemClock as clock } from "../../../src/net/clock.ts";
import type { PortSocket } from "../../../src/net/port_socket.ts";
import type { DatagramSocket, TargetThread } from "../../../src/net/socket.ts";

Deno.test("an engine of frames has a socket of ports for each thread of IPv4, others have one", () => {
  const threads = ["A", "B", "C"] as unknown as TargetThread[];
  const shared = [...threads, ...threads].map((thread) => ({ thread }) as DatagramSocket);
  const opened = (route: string | undefined, bits: 4 | 6, atOnce: number, given = shared) => {
    const all: [thread: unknown, atOnce: number][] = [];
    const openPorts = (_local: unknown, options: { atOnce: number }, thread?: unknown) => {
      all.push([thread, options.atOnce]);
      return {} as PortSocket;
    };
    const options = { clock, wait: { ms: 900 }, atOnce };
    openPortSockets({ openPorts, route }, bits, { sourceIp: undefined }, given, options);
    return all;
  };
  assertEquals(opened("over eth0", 4, 301), [["A", 100], ["B", 100], ["C", 100]]);
  assertEquals(opened("over eth0", 4, 2), [["A", 1], ["B", 1], ["C", 1]]);
  assertEquals(opened("over eth0", 6, 301), [[undefined, 301]]);
  assertEquals(opened(undefined, 4, 301), [[undefined, 301]]);
  assertEquals(opened("over eth0", 4, 301, [{} as DatagramSocket]), [[undefined, 301]]);
});
