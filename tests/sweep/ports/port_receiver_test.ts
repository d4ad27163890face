/** Covers src/net/port_socket.ts, src/sweep/ports/found_ports.ts and src/sweep/ports/port_receiver.ts. */
import { assertEquals } from "@std/assert";
import type { Address, Endpoint } from "../../../src/core/address.ts";
import { Endpoints } from "../../../src/core/endpoints.ts";
import type { PortReply } from "../../../src/net/port_socket.ts";
import type { Stream } from "../../../src/net/stream.ts";
import { SYN_PROBE } from "../../../src/protocols/syn_probe.ts";
import { FoundPorts } from "../../../src/sweep/ports/found_ports.ts";
import { noPorts, type OpenPort, PortReceiver } from "../../../src/sweep/ports/port_receiver.ts";
import type { ProbeKind } from "../../../src/sweep/probe_kind.ts";
import { Tokens } from "../../../src/targets/token.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

const KINDS: readonly ProbeKind[] = ["slp", "nethernet"]
  .map((protocol, kind) => ({ protocol, kind, probe: SYN_PROBE }));
const TOKENS = new Tokens(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
const SERVER: Endpoint = { address: 0x7f000001, port: 25565 };
const OPTED_OUT = 0x7f000099;
const CANARY_TOKEN = 77;

/** A receiver on a fake clock whose targets are 127.0.0.0/24, in the ports of each protocol. */
function newReceiver() {
  const clock = new FakeNetwork(1);
  const counts = noPorts();
  const foundPorts = new FoundPorts(["slp", "nethernet"], 5);
  const [opened, closed, canaries, roundTrips]: [
    (readonly [OpenPort, number | undefined])[],
    Stream[],
    Endpoint[],
    number[],
  ] = [[], [], [], []];
  let replied = false;
  const receiver = new PortReceiver({
    kinds: KINDS,
    tokens: TOKENS,
    targets: {
      has: ({ address, port }, protocol) =>
        (address as number) >>> 8 === 0x7f0000 && port === (protocol === "slp" ? 25565 : 19132),
      hasHost: () => true,
    },
    foundPorts,
    clock,
    counts,
    canaries: {
      isFrom: (_kind, _from, mac) => mac === CANARY_TOKEN,
      reply: () => replied ? "duplicate" : (replied = true, "canary"),
      add: (_kind, endpoint) => void canaries.push({ ...endpoint }),
    },
    window: { replied: () => {} },
    optedOut: { has: (address: Address) => address === OPTED_OUT },
    onRoundTrip: (ms) => void roundTrips.push(ms),
    onOpen: (port, sentAt) => void opened.push([port, sentAt]),
  });
  const newStream = (): Stream => {
    const stream: Stream = {
      read: () => Promise.resolve("closed"),
      write: () => Promise.resolve(false),
      [Symbol.dispose]: () => void closed.push(stream),
    };
    return stream;
  };
  const receive = (
    from: Endpoint,
    reply: Partial<PortReply>,
    kind = KINDS[0],
  ) =>
    receiver.receive({
      ...{ state: "open", token: TOKENS.of(kind.kind, from), clock: undefined, stream: undefined },
      ...reply,
    }, from);
  return { clock, counts, foundPorts, opened, closed, canaries, roundTrips, newStream, receive };
}

Deno.test("PortReceiver passes on the first reply of an open port, with its connection and time", async () => {
  const { clock, counts, opened, closed, roundTrips, newStream, receive } = newReceiver();
  const stamp = Math.floor(clock.now() * 1000);
  await clock.run(new Promise<void>((resolve) => clock.after(25, resolve)));
  const [first, second] = [newStream(), newStream()];
  const from = { ...SERVER };
  receive(from, { clock: stamp, stream: first });
  from.port = 1; // the caller reuses the object
  assertEquals(opened, [[
    { endpoint: SERVER, protocol: "slp", stream: first },
    clock.now() - 25,
  ]]);
  receive(SERVER, { stream: second });
  assertEquals([opened.length, closed, roundTrips], [1, [second], [25]]);
  assertEquals(counts, { ...noPorts(), open: 1, duplicate: 1 });
});

Deno.test("PortReceiver counts a port that was removed as open again, without the time of its probe", () => {
  const { clock, counts, foundPorts, opened, receive } = newReceiver();
  receive(SERVER, { clock: Math.floor(clock.now() * 1000) });
  foundPorts.delete(SERVER, "slp");
  receive(SERVER, { clock: Math.floor(clock.now() * 1000) });
  assertEquals(opened.map(([, sentAt]) => sentAt), [clock.now(), undefined]);
  assertEquals(counts.open, 2);
});

Deno.test("PortReceiver accepts a token only from the endpoint and the protocol that it belongs to", () => {
  const { counts, opened, closed, newStream, receive } = newReceiver();
  const token = TOKENS.of(0, SERVER);
  const other = { address: 0x7f000002, port: 25565 };
  receive(other, { token, stream: newStream() });
  receive({ ...SERVER, port: 19132 }, { token, stream: newStream() });
  receive({ address: 0x0a000001, port: 25565 }, { stream: newStream() }); // not a target
  receive(SERVER, { token: token ^ 1, stream: newStream() });
  receive(SERVER, { token: TOKENS.of(1, SERVER), state: "refused" }); // of a protocol without this port
  assertEquals([opened, closed.length], [[], 4]);
  assertEquals(counts, { ...noPorts(), forged: 5 });
  receive({ ...SERVER, port: 19132 }, {}, KINDS[1]);
  assertEquals(opened.map(([{ protocol }]) => protocol), ["nethernet"]);
});

Deno.test("PortReceiver takes hosts that refuse as canaries, and no unreachable ones", () => {
  const { clock, counts, canaries, roundTrips, receive } = newReceiver();
  const stamp = Math.floor(clock.now() * 1000);
  receive(SERVER, { state: "unreachable", clock: stamp });
  receive(SERVER, { state: "refused", clock: stamp });
  assertEquals([canaries, roundTrips], [[SERVER], [0]]);
  assertEquals(counts, { ...noPorts(), refused: 1, unreachable: 1 });
});

Deno.test("PortReceiver closes the connections of canaries, and counts each reply once", () => {
  const { counts, opened, closed, newStream, receive } = newReceiver();
  receive(SERVER, { token: CANARY_TOKEN, state: "unreachable" });
  receive(SERVER, { token: CANARY_TOKEN, stream: newStream() });
  receive(SERVER, { token: CANARY_TOKEN, state: "refused" });
  assertEquals([opened, closed.length], [[], 1]);
  assertEquals(counts, { ...noPorts(), canary: 1, duplicate: 1 });
});

Deno.test("PortReceiver closes what an address that opted out opens, and counts nothing", () => {
  const { counts, opened, closed, newStream, receive } = newReceiver();
  receive({ address: OPTED_OUT, port: 25565 }, { stream: newStream() });
  assertEquals([opened, closed.length, counts], [[], 1, noPorts()]);
});

Deno.test("FoundPorts keeps the ports of each protocol apart", () => {
  const foundPorts = new FoundPorts(["slp", "nethernet"], 5);
  const list = Endpoints.of(SERVER);
  assertEquals([foundPorts.add(SERVER, "slp"), foundPorts.add(SERVER, "slp")], ["new", undefined]);
  assertEquals([foundPorts.hasAt(list, 0, "slp"), foundPorts.hasAt(list, 0, "nethernet")], [
    true,
    false,
  ]);
  foundPorts.delete(SERVER, "slp");
  assertEquals([foundPorts.hasAt(list, 0, "slp"), foundPorts.add(SERVER, "slp")], [false, "again"]);
});

Deno.test("PortReceiver counts a repeated refusal as a duplicate, and returns which replies are proved", () => {
  const { clock, counts, canaries, roundTrips, receive } = newReceiver();
  const refusal = { state: "refused", clock: Math.floor(clock.now() * 1000) } as const;
  assertEquals(receive(SERVER, refusal), true);
  assertEquals(receive(SERVER, { ...refusal, isRepeated: true }), true);
  assertEquals([canaries.length, roundTrips.length], [1, 1]);
  assertEquals(receive(SERVER, { token: 1 }), false);
  assertEquals(receive({ ...SERVER, address: OPTED_OUT }, {}), false);
  assertEquals(counts, { ...noPorts(), refused: 1, duplicate: 1, forged: 1 });
});
