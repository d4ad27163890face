import { assert, assertEquals } from "@std/assert";
import { serve, type StreamEvent } from "../../../../src/fleet/simulate/network/tcp_connection.ts";
import { drawFleet } from "../../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../../src/fleet/simulate/open_fleet.ts";
import { Random } from "../../../../src/fleet/random.ts";
import type { StreamAct } from "../../../../src/fleet/simulate/responder.ts";
import {
  HostileListener,
  STREAM_TRICKS,
} from "../../../../src/fleet/simulate/hostile/hostile_listeners.ts";
import * as slp from "../../../../src/protocols/slp/mod.ts";
import { systemClock } from "../../../../src/net/clock.ts";
import { denoDialer } from "../../../../src/net/deno/tcp_dialer.ts";
import type { Stream } from "../../../../src/net/socket.ts";
import { FakeNetwork } from "../../../../src/testing/fake_network.ts";

const REQUEST = slp.encodeStatusRequest({ protocol: -1, host: "a", port: 25565 });
const bytes = (text: string) => new TextEncoder().encode(text);

/** A peer that sends some bytes and closes. */
class Peer implements Stream {
  readonly received: string[] = [];
  closed = false;

  constructor(private readonly clock: FakeNetwork, private readonly says: Uint8Array[] | "mute") {}

  read(): Promise<Uint8Array | "closed" | "reset"> {
    if (this.says !== "mute") return Promise.resolve(this.says.shift() ?? "closed");
    return new Promise((resolve) => {
      const look = () => this.closed ? resolve("closed") : this.clock.after(1000, look);
      look();
    });
  }

  write(piece: Uint8Array): Promise<boolean> {
    this.received.push(`${this.clock.now()}: ${new TextDecoder().decode(piece)}`);
    return Promise.resolve(!this.closed);
  }

  [Symbol.dispose](): void {
    this.closed = true;
  }
}

async function served(says: Uint8Array[] | "mute", opening: StreamAct[], reply: StreamAct[]) {
  const clock = new FakeNetwork(1);
  const peer = new Peer(clock, says);
  const start = clock.now();
  const events: StreamEvent[] = [];
  const talk = { opening, receive: () => reply };
  const options = { clock, delay: () => 5, signal: new AbortController().signal };
  const host = { accept: () => talk };
  const noted = serve(peer, host, { address: 1, port: 1 }, {
    ...options,
    note: (event) => events.push(event),
  });
  await clock.run(noted);
  const did = events.map(({ way, did }) => `${way} ${typeof did === "string" ? did : did.length}`);
  const received = peer.received.map((line) => line.replace(/^\d+/, (at) => String(+at - start)));
  return { did, received, closed: peer.closed, took: clock.now() - start };
}

Deno.test("serve() performs the actions of a host with their delays, and closes", async () => {
  const reported = await served([bytes("hi")], [{ bytes: bytes("yo") }], [
    { bytes: bytes("a") },
    { waitMs: 100 },
    { bytes: bytes("b") },
  ]);
  assertEquals(reported.received, ["5: yo", "10: a", "115: b"]);
  assertEquals(reported.did, ["in open", "out 2", "in 2", "out 1", "out 1", "in closed"]);
  assert(reported.closed);
  const closing = await served([bytes("hi"), bytes("more")], [], ["close"]);
  assertEquals(closing.did, ["in open", "in 2", "out closed"]);
  const mute = await served("mute", [], []);
  assert(mute.closed && mute.took >= 30_000 && mute.took < 32_000);
});

Deno.test("hostile hosts never send a status", () => {
  for (const name of Object.keys(STREAM_TRICKS)) {
    const talk = new HostileListener(name, new Random(1)).accept();
    const acts = [...talk.opening, ...talk.receive(REQUEST)];
    const size = acts.reduce(
      (sum, act) => typeof act === "object" && "bytes" in act ? sum + act.bytes.length : sum,
      0,
    );
    assert(name === "tcpFlood" ? size > 2 ** 21 : size < 2 ** 18, `${name}: ${size}`);
  }
});

Deno.test("a fleet responds on TCP from the probed address, and closes connections at its end", async () => {
  const range = { start: 0x7f430000, end: 0x7f440000 };
  const hosts = drawFleet({ servers: 4, range, seed: 2, software: ["vanilla", "java16"] });
  const signal = new AbortController().signal;
  const open: Stream[] = [];
  {
    await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    for (const { endpoint } of hosts) {
      const stream = await denoDialer().connect(endpoint, signal);
      assert(typeof stream === "object", String(stream));
      open.push(stream);
      assert(await stream.write(REQUEST));
      assert(await stream.read() instanceof Uint8Array);
    }
    assertEquals(fleet.accepted, 4);
  }
  for (const stream of open) {
    let printed = await stream.read();
    while (printed instanceof Uint8Array) printed = await stream.read();
    stream[Symbol.dispose]();
  }
  assertEquals(await denoDialer().connect(hosts[0].endpoint, signal), "refused");
});
