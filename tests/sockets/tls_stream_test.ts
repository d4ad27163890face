/**
 * TLS over real sockets, on loopback.
 *
 * Covers src/net/tcp/tls_stream.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { TLSSocket } from "node:tls";
import type { Endpoint } from "../../src/core/address.ts";
import { systemClock } from "../../src/net/clock.ts";
import { denoDialer } from "../../src/net/deno/tcp_dialer.ts";
import type { Dialer } from "../../src/net/socket.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { type Break, breakingPeer, plainPeer, SHA_256, tlsPeer } from "./tls_peers.ts";

const OWN = 0x7f3b0002;
const REQUEST = new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n");
const REPLY = "HTTP/1.1 200 OK\r\n\r\n";
const MINUTE_MS = 60_000;
/** Limits that no peer of these tests reaches, also on a slow machine. */
const LONG = { ...STREAM_LIMITS, connectMs: MINUTE_MS, firstByteMs: MINUTE_MS, totalMs: MINUTE_MS };
/** Limits for peers that stay silent. */
const SHORT = { ...LONG, firstByteMs: 100, totalMs: 2000 };

type Result = Awaited<ReturnType<typeof ask>>;

interface Given {
  readonly limits?: StreamLimits;
  readonly serverName?: string;
  readonly dialer?: Dialer;
}

/** Sends a request over TLS, and reads until the end. */
async function ask(endpoint: Endpoint, { limits = LONG, serverName, dialer }: Given = {}) {
  await using link = new StreamLink(endpoint, {
    dialer: dialer ?? denoDialer(),
    throttle: new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined }),
    clock: systemClock,
    limits,
    signal: new AbortController().signal,
  });
  let [certificate, text] = ["", ""];
  link.renew({ serverName, onCertificate: (sha256) => certificate = text + sha256 });
  const sent = await link.send(REQUEST);
  for (let bytes; (bytes = await link.next(Infinity)) !== undefined;) {
    text += new TextDecoder().decode(bytes);
  }
  return { certificate, sent, text, end: link.end };
}

const FULL: Result = { certificate: SHA_256, sent: true, text: REPLY, end: "closed" };
const NONE = { certificate: "", sent: false, text: "" };
const reply = (socket: TLSSocket) => void socket.once("data", () => socket.end(REPLY));

for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
  for (const own of [undefined, OWN]) {
    const from = own === undefined ? "the system's address" : "an address of ours";
    Deno.test(`a link over ${version} from ${from} gives certificate, reply and end`, async () => {
      const seen: unknown[] = [];
      await using peer = await tlsPeer((socket) => {
        const name = (socket as { servername?: string | false | null }).servername || null;
        seen.push([socket.remoteAddress, socket.alpnProtocol, socket.getProtocol(), name]);
        reply(socket);
      }, version);
      const dialer = denoDialer(own);
      for (const serverName of [undefined, "play.example.org"]) {
        assertEquals(await ask(peer.endpoint, { dialer, serverName }), FULL);
      }
      const address = own === undefined ? "127.0.0.1" : "127.59.0.2";
      const common = [address, "http/1.1", version];
      assertEquals(seen, [[...common, null], [...common, "play.example.org"]]);
      assertEquals(dialer.errors.size, 0);
    });
  }
}

const HTTP_400 = new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
const ALERT = Uint8Array.of(0x15, 3, 1, 0, 2, 2, 0x28);
/** A record whose handshake message announces 16 MB. */
const LONG_MESSAGE = new Uint8Array(16_389);
LONG_MESSAGE.set([0x16, 3, 3, 0x40, 0, 2, 0xff, 0xff, 0xff]);

for (
  const [name, bytes, end] of [
    ["closes without a byte", undefined, "closed"],
    ["replies in HTTP", HTTP_400, "noTls"],
    ["sends an alert", ALERT, "noTls"],
    ["sends zeros", new Uint8Array(100_000), "noTls"],
    ["sends an endless message", LONG_MESSAGE, "noTls"],
    ["sends a part of a record", LONG_MESSAGE.subarray(0, 12), "noTls"],
  ] as const
) {
  Deno.test(`a peer that ${name} in the handshake ends with "${end}"`, async () => {
    for (const own of [undefined, OWN]) {
      await using peer = await plainPeer((socket) =>
        void socket.once("data", () => bytes === undefined ? socket.end() : socket.end(bytes))
      );
      const dialer = denoDialer(own);
      assertEquals(await ask(peer.endpoint, { dialer }), { ...NONE, end });
      assertEquals(dialer.errors.size, end === "noTls" ? 1 : 0);
    }
  });
}

Deno.test("a peer without a byte in the handshake, or after it, is slow", async () => {
  await using mute = await plainPeer((socket) => void socket.resume());
  assertEquals(await ask(mute.endpoint, { limits: SHORT }), { ...NONE, end: "slow" });
  await using silent = await tlsPeer((socket) => void socket.resume());
  // The handshake itself may take longer than the limit on a slow machine.
  const limits = { ...LONG, totalMs: 2000 };
  assertEquals(await ask(silent.endpoint, { limits }), { ...FULL, text: "", end: "slow" });
});

Deno.test("a handshake without end is slow, and its bytes have a limit", async () => {
  await using drip = await plainPeer((socket) => {
    socket.write(Uint8Array.of(0x16, 3, 3, 0, 4, 2, 0, 0x40, 0)); // a ServerHello of 16 KiB follows
    const timer = setInterval(() => socket.write(Uint8Array.of(0x16, 3, 3, 0, 1, 0)), 10);
    socket.on("close", () => clearInterval(timer)).resume();
  });
  assertEquals(await ask(drip.endpoint, { limits: SHORT }), { ...NONE, end: "slow" });
  await using peer = await tlsPeer(reply);
  const limits = { ...LONG, maxBytes: 400 };
  assertEquals(await ask(peer.endpoint, { limits }), { ...NONE, end: "flood" });
});

Deno.test("a link reads at most its limit of decrypted bytes", async () => {
  const part = new Uint8Array(1 << 20).fill(0x61);
  await using peer = await tlsPeer((socket) => {
    const flood = () => void (socket.writable && socket.write(part, flood));
    socket.once("data", flood);
  });
  const { text, end } = await ask(peer.endpoint, { limits: { ...LONG, maxBytes: 1 << 20 } });
  assertEquals(end, "flood");
  assert(text.length <= 1 << 20, `${text.length}`);
});

/** Number of open descriptors of this process. Deno itself may not read them without all permissions. */
async function descriptors(): Promise<number> {
  const command = new Deno.Command("sh", { args: ["-c", "ls /proc/$PPID/fd | wc -l"] });
  return Number(new TextDecoder().decode((await command.output()).stdout));
}

/**
 * How a connection ends that breaks before its first byte, in the handshake, and after it. Bytes in the
 * middle of a record are a part of it, so that the peer is slow. A reset may overtake bytes before it.
 */
const ENDS: Record<Break, readonly [first: string, handshake: string, after: string]> = {
  close: ["closed", "noTls", "closed"],
  reset: ["reset", "noTls or reset", "reset"],
  silence: ["slow", "slow", "slow"],
  garbage: ["noTls", "noTls or slow", "reset or slow"],
  alert: ["noTls", "noTls or slow", "reset or slow"],
};

Deno.test("two hundred connections that break at any byte leave no descriptor", async () => {
  const hows = Object.keys(ENDS) as Break[];
  await using whole = await tlsPeer(reply);
  let next: readonly [number, Break] = [Infinity, "close"];
  let size = 0;
  await using peer = await breakingPeer(whole, () => next, (bytes) => size = bytes);
  assertEquals(await ask(peer.endpoint), FULL);
  const before = await descriptors();
  const reached = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const how = hows[i % 5];
    next = [i < 5 ? 0 : Math.floor(size * i / 200), how];
    const limits = how === "close" || how === "reset" ? LONG : SHORT;
    const dialer = denoDialer(i % 2 === 0 ? undefined : OWN);
    const { certificate, end } = await ask(peer.endpoint, { limits, dialer });
    const part = i < 5 ? 0 : certificate === "" ? 1 : 2;
    assert(ENDS[how][part].split(" or ").includes(end!), `${next}: ${end} in part ${part}`);
    reached.add(`${how} ${part}`);
  }
  assertEquals(reached.size, 15);
  // The peers close their ends in later turns of the event loop.
  let after = await descriptors();
  for (let tries = 0; tries < 100 && after > before; tries++) after = await descriptors();
  assert(after <= before, `${before} descriptors before, ${after} after`);
});
