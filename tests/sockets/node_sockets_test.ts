/**
 * The sockets of Node.js and Bun, with Deno's modules of Node.js: they fulfil the contract of engines.
 * tests/npm/query_test.ts tests them in Node and Bun.
 *
 * Covers src/net/node/udp_socket.ts and src/net/node/tcp_dialer.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { createServer, type Server } from "node:net";
import type { Endpoint } from "../../src/core/address.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";
import { openNodeSocket } from "../../src/net/node/udp_socket.ts";
import { nodeDialer } from "../../src/net/node/tcp_dialer.ts";
import { testEngine } from "./engine_contract.ts";

/** Opens a socket; errors have the classes of Deno, which the contract of engines names. */
function open(local: Endpoint): DatagramSocket {
  try {
    return openNodeSocket(local);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EADDRINUSE") throw error;
    throw new Deno.errors.AddrInUse((error as Error).message);
  }
}

testEngine({ name: "node", address: 0x7f000001, run: (test) => test(open) });

const NEVER = new AbortController().signal;
const HOST = 0x7f3a0001;

/** Runs a function with the port of a server. */
async function withServer(server: Server, work: (port: number) => Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, "127.58.0.1", resolve));
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  await work(address.port);
  await new Promise((resolve) => server.close(resolve));
}

Deno.test("node: a connection reads to its end, also after it was written to a closed side", async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.end("hello");
    socket.on("data", (bytes) => received.push(String(bytes)));
  });
  const received: string[] = [];
  await withServer(server, async (port) => {
    const stream = await nodeDialer().connect({ address: HOST, port }, NEVER);
    assert(typeof stream !== "string", String(stream));
    const bytes = await stream.read();
    assert(typeof bytes !== "string");
    assertEquals(new TextDecoder().decode(bytes), "hello");
    assertEquals(await stream.read(), "closed");
    assertEquals(await stream.write(Uint8Array.of(65)), true);
    stream[Symbol.dispose]();
    assertEquals([await stream.read(), await stream.write(Uint8Array.of(65))], ["closed", false]);
  });
  assertEquals(received, ["A"]);
});

Deno.test("node: a reset is reported as one, and counted", async () => {
  const dialer = nodeDialer();
  const server = createServer((socket) => void socket.once("data", () => socket.resetAndDestroy()));
  await withServer(server, async (port) => {
    const stream = await dialer.connect({ address: HOST, port }, NEVER);
    assert(typeof stream !== "string", String(stream));
    await stream.write(Uint8Array.of(1));
    assertEquals(await stream.read(), "reset");
    stream[Symbol.dispose]();
  });
  assertEquals([...dialer.errors], [["ECONNRESET", 1]]);
});

Deno.test("node: a refusal, a cancelled attempt and a closed gate open no connection", async () => {
  const dialer = nodeDialer();
  let freed = 0;
  await withServer(createServer(), (port) => Promise.resolve(void (freed = port)));
  const to = { address: HOST, port: freed };
  assertEquals(await dialer.connect(to, NEVER), "refused");
  assertEquals(await dialer.connect(to, AbortSignal.abort()), "cancelled");
  const gate = { isOpen: () => false, keptBack: 0, whenOpen: () => Promise.resolve(false) };
  assertEquals(await dialer.connect(to, NEVER, gate), "kept back");
  const error: { code?: string } = {};
  assertEquals(await dialer.connect(to, NEVER, undefined, error), "refused");
  assertEquals([error.code, [...dialer.errors]], ["ECONNREFUSED", [["ECONNREFUSED", 1]]]);
});
