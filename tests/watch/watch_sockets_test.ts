import { assertEquals } from "@std/assert";
import type { DatagramSocket } from "../../src/net/socket.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { WatchSockets } from "../../src/watch/watch_sockets.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

const PEER = { address: 0x7f000001, port: 9 };

/** A socket that fails when the network is down. */
function failing(socket: DatagramSocket, failed: Promise<never>): DatagramSocket {
  return new Proxy(socket, {
    get(target, name) {
      if (name === "listen") {
        return (receiver: Parameters<DatagramSocket["listen"]>[0]) =>
          Promise.race([target.listen(receiver), failed]);
      }
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

Deno.test("failed sockets are replaced when the network is back, with messages", async () => {
  const network = new FakeNetwork(1);
  network.host(PEER, { respond: (datagram) => [datagram.slice()] });
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined });
  const controller = new AbortController();
  const reported: string[] = [];
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let opened = 0;
  const lasting = new WatchSockets({
    open: () => {
      opened++;
      if (opened === 1) return [failing(network.open(4), failed), network.open(4)];
      if (opened < 4) throw new Error("no network");
      return [network.open(4), network.open(4)];
    },
    throttle,
    clock: network,
    signal: controller.signal,
    report: (line) => reported.push(line),
  });
  const queries = async () => {
    await using link = lasting.current.link(PEER, 0);
    await link.send(Uint8Array.of(7));
    return (await link.next(500))?.[0];
  };
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await network.run((async () => {
    const listening = lasting.listen();
    assertEquals(await queries(), 7);
    reject(new Error("network is down (os error 100)"));
    assertEquals(lasting.failing, false);
    await later(500);
    assertEquals(await queries(), undefined);
    assertEquals(lasting.failing, true);
    await later(3000);
    assertEquals(await queries(), 7);
    assertEquals(lasting.failing, false);
    controller.abort();
    await listening;
  })());
  assertEquals(opened, 4);
  assertEquals(reported, [
    "a socket failed (network is down (os error 100)); opening new sockets",
    "sockets cannot be opened (no network); trying again",
    "sockets are open again",
  ]);
});
