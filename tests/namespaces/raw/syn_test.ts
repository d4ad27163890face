/**
 * SYN packets as frames, and the replies of a host in another namespace.
 *
 * Covers src/net/linux/syn/.
 */
import { systemClock } from "../../../src/net/clock.ts";
import { assert, assertEquals } from "@std/assert";
import type { Endpoint } from "../../../src/core/address.ts";
import { Endpoints } from "../../../src/core/endpoints.ts";
import type { FrameSender } from "../../../src/net/linux/frame_socket.ts";
import { PacketSender } from "../../../src/net/linux/packet_sender.ts";
import { SynSocket } from "../../../src/net/linux/syn/syn_socket.ts";
import { SendThread } from "../../../src/net/linux/thread/send_thread.ts";
import { XdpSocket } from "../../../src/net/linux/xdp/xdp_socket.ts";
import { XdpSender } from "../../../src/net/linux/xdp_sender.ts";
import type { PortReplyReceiver, PortSocket, PortState } from "../../../src/net/port_socket.ts";
import { DatagramBatch, noErrors, type Template } from "../../../src/net/socket.ts";
import { SYN_PROBE } from "../../../src/protocols/syn_probe.ts";
import { HostFilter } from "../../../src/targets/host_filter.ts";
import { RangeSet } from "../../../src/targets/ranges.ts";
import { TargetSpace } from "../../../src/targets/space.ts";
import { Tokens } from "../../../src/targets/token.ts";
import { type FarHost, PORT, startFarHost } from "./far_host.ts";

const { template, tokenAt, clockAt, transport } = SYN_PROBE;
const SYN: Template = { template, tokenAt, clockAt, transport };

const OPENINGS: Record<string, (host: FarHost) => Promise<FrameSender>> = {
  packet: ({ index }) => Promise.resolve(new PacketSender(index)),
  async "packet with a thread"({ index, route }) {
    return new PacketSender(index, await SendThread.start({ route }));
  },
  xdp: ({ index }) => Promise.resolve(new XdpSender(new XdpSocket(index, 0))),
  async "xdp with a thread"({ index, route }) {
    const socket = new XdpSocket(index, 1);
    return new XdpSender(socket, await SendThread.start({ route, rings: socket.map }));
  },
};

/** A socket for targets without a frame, which keeps them. */
class PlainPorts implements PortSocket<DatagramBatch> {
  readonly family = 4;
  readonly receiveBuffer = 0;
  readonly dropped = 0;
  readonly errors = noErrors();
  readonly pending = 0;
  readonly got: string[] = [];
  readonly #closed = Promise.withResolvers<void>();

  batch(of: Template, capacity: number): DatagramBatch {
    return new DatagramBatch(of, capacity);
  }

  flush(batch: DatagramBatch): number {
    for (let i = 0; i < batch.length; i++) {
      this.got.push(`${batch.addresses[i]}:${batch.ports[i]}`);
    }
    return batch.length;
  }

  hasPending({ address, port }: Endpoint): boolean {
    return this.got.includes(`${address}:${port}`);
  }

  listen(): Promise<void> {
    return this.#closed.promise;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed.resolve();
    return Promise.resolve();
  }
}

/** A reply as it was received. */
interface Got {
  readonly state: PortState;
  readonly token: number;
  readonly clock: number | undefined;
  readonly from: Endpoint;
}

/** A socket with what it has received. */
class Tested {
  readonly got: Got[] = [];
  #wanted = { count: 0, resolve: () => {} };

  /** Whether replies count as those of probes. */
  isProved = true;

  constructor(readonly socket: SynSocket, readonly plain: PlainPorts) {}

  readonly receive: PortReplyReceiver = ({ state, token, clock }, from) => {
    this.got.push({ state, token, clock, from });
    if (this.got.length >= this.#wanted.count) this.#wanted.resolve();
    return this.isProved;
  };

  /** Resolves after a number of replies in all. */
  replies(count: number): Promise<void> {
    if (this.got.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#wanted = { count, resolve });
  }

  /** Sends a SYN packet to each endpoint. */
  async send(...endpoints: [address: number, port: number, token: number][]): Promise<void> {
    const batch = this.socket.batch(SYN, 256);
    const target = new Endpoints(1);
    for (let at = 0; at < endpoints.length; at += 256) {
      const part = endpoints.slice(at, at + 256);
      for (const [address, port, token] of part) {
        target.set(0, { address, port });
        batch.add(target, 0, token | 0, 1000 + token);
      }
      assertEquals(await this.socket.flush(batch), part.length);
      batch.clear();
    }
  }
}

async function withSocket(
  host: FarHost,
  open: (host: FarHost) => Promise<FrameSender>,
  test: (tested: Tested) => Promise<void>,
): Promise<void> {
  const sender = await open(host);
  const { index, route } = host;
  const plain = new PlainPorts();
  await using socket = new SynSocket({ sender, route, index, plain, clock: systemClock });
  const tested = new Tested(socket, plain);
  const listening = socket.listen(tested.receive);
  await test(tested);
  assertEquals([...socket.errors.send, ...socket.errors.receive], []);
  assertEquals(socket.dropped, 0);
  await socket[Symbol.asyncDispose]();
  await listening;
  assertEquals([socket.receiveBufferUsed, await socket.flush(socket.batch(SYN, 1))], [0, 0]);
}

for (const [name, open] of Object.entries(OPENINGS)) {
  Deno.test(`${name}: open, refused, unreachable and silent ports, and targets without a frame`, async () => {
    await using host = await startFarHost(["10.96.1.0/24"]);
    await host.run("ip route add unreachable 10.97.0.0/24");
    await withSocket(host, open, async (tested) => {
      const { socket, plain, got } = tested;
      assert(socket.port >= 10_000 && socket.receiveBuffer > 0);
      await tested.send(
        [0x0a600101, PORT, 1],
        [0x0a600102, 80, 0xffff_ffff],
        [0x0a600203, PORT, 3],
        [0x0a610005, PORT, 0x8000_0000],
        [0x0a600107, PORT, 0],
        [0x7f000001, PORT, 5],
        [0x0a600101, 0, 6],
        [0x0a5e0002, 80, 7],
      );
      await tested.replies(4);
      await socket.drained();
      const of = (address: number) => got.filter(({ from }) => from.address === address);
      assertEquals(got.length, 4);
      const late = (clock: number | undefined, sent: number) => clock! - sent;
      for (const [address, token] of [[0x0a600101, 1], [0x0a600107, 0]] as const) {
        const [{ clock, ...reply }] = of(address);
        assertEquals(reply, { state: "open", token, from: { address, port: PORT } });
        // A sender thread adds the time that the target has waited.
        assert(late(clock, 1000 + token) >= 0 && late(clock, 1000 + token) < 5_000_000);
      }
      assertEquals(of(0x0a600102), [{
        state: "refused",
        token: 0xffff_ffff,
        clock: undefined,
        from: { address: 0x0a600102, port: 80 },
      }]);
      assertEquals(of(0x0a610005), [{
        state: "unreachable",
        token: 0x8000_0000,
        clock: undefined,
        from: { address: 0x0a610005, port: PORT },
      }]);
      const isPending = (address: number) => socket.hasPending({ address, port: PORT });
      assertEquals([0x7f000001, 0x0a600203].map(isPending), [true, false]);
      assertEquals(plain.got, [
        `${0x7f000001}:${PORT}`,
        `${0x0a600101}:0`,
        `${0x0a5e0002}:80`,
      ]);
      assertEquals(await host.halfOpen(), 0, "the kernel has answered with RSTs");
    });
  });

  Deno.test(`${name}: 10,000 live among 55,536 silent addresses are all found once`, async () => {
    const networks = Array.from({ length: 39 }, (_, i) => `10.96.${6 * i}.0/24`);
    await using host = await startFarHost([...networks, "10.96.255.0/28"]);
    await withSocket(host, open, async (tested) => {
      const all = Array.from(
        { length: 65_536 },
        (_, i): [number, number, number] => [0x0a600000 + (i * 40_503 & 0xffff), PORT, i],
      );
      await tested.send(...all);
      await tested.replies(10_000);
      await tested.socket.drained();
      const { got } = tested;
      const addresses = new Set(got.map(({ from }) => from.address as number));
      assertEquals([got.length, addresses.size], [10_000, 10_000]);
      const isLive = (address: number) =>
        (address >>> 8 & 255) % 6 === 0 && (address >>> 8 & 255) < 234 ||
        address >>> 4 === 0x0a60ff0;
      for (const { state, token, from: { address } } of got) {
        assertEquals([state, isLive(address as number)], ["open", true]);
        assertEquals(all[token][0], address);
      }
    });
  });

  if (name !== "packet") continue; // the sender of RSTs is the same, and this takes a minute
  Deno.test(`${name}: repeated SYN-ACKs are answered if the RSTs of the system do not reach the peer`, async () => {
    await using host = await startFarHost(["10.96.1.0/24"], false);
    await withSocket(host, open, async (tested) => {
      const targets = Array.from(
        { length: 200 },
        (_, i): [number, number, number] => [0x0a600101 + i, PORT, i],
      );
      await tested.send(...targets);
      await tested.replies(200);
      assertEquals(await host.halfOpen(), 200);
      tested.isProved = false; // forged SYN-ACKs must not make this host send packets
      await tested.replies(400);
      assertEquals(await host.halfOpen(), 200);
      tested.isProved = true;
      await tested.replies(600); // each peer repeats its SYN-ACK after a second
      while (await host.halfOpen() > 0);
      assertEquals(new Set(tested.got.map(({ token }) => token)).size, 200);
    });
  });
}

for (const name of ["packet with a thread", "xdp with a thread"]) {
  Deno.test(`${name}: the thread computes targets of SYN packets, and leaves those without a frame`, async () => {
    await using host = await startFarHost(["10.96.1.0/24"]);
    await withSocket(host, OPENINGS[name], async (tested) => {
      const { thread, errors } = tested.socket;
      const tokens = new Tokens(new Uint8Array(8).fill(3));
      const ranges = [{ start: 0x0a600100, end: 0x0a600200 }, {
        start: 0x0a700000,
        end: 0x0a700064,
      }];
      thread!.begin({
        space: new TargetSpace([{ addresses: RangeSet.of(ranges), ports: [PORT, 80] }], { seed: 1 })
          .data,
        template: SYN,
        key: tokens.key,
        kind: 9,
        macMask: -1,
        filter: new HostFilter(1).memory,
        batchSize: 100,
      });
      const { sent, left, visited } = await thread!.sendBlock(0, 712, 7, errors);
      assertEquals([sent, left.length, visited], [512, 200, 712]);
      await tested.replies(512);
      for (const { state, token, from } of tested.got) {
        assertEquals(state, from.port === PORT ? "open" : "refused");
        assertEquals(token, tokens.of(9, from) >>> 0);
      }
    });
  });
}
