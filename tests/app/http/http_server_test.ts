/**
 * Tests of src/app/http/, and attacks on its server: src/app/http/http_server.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseRequest } from "../../../src/app/http/http_request.ts";
import {
  HttpServer,
  type HttpServerOptions,
  MAX_CONNECTIONS,
} from "../../../src/app/http/http_server.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const GET = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

function serve(hostname = "127.0.0.1", options: Partial<HttpServerOptions> = {}) {
  const clock = new ManualClock();
  const listener = Deno.listen({ hostname, port: 0 });
  const { port } = listener.addr;
  const paths: string[] = [];
  const server = new HttpServer(listener, {
    clock,
    onTrouble: (reason) => {
      throw new Error(reason);
    },
    respond: ({ path }) => {
      paths.push(path);
      return { status: 200, body: bytes("a page\n") };
    },
    ...options,
  });
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
  return { server, clock, connect, paths };
}

/** All bytes of a connection until it ends or is reset. */
async function readAll(conn: Deno.TcpConn): Promise<string> {
  const text: string[] = [];
  const buffer = new Uint8Array(4096);
  try {
    for (let size; (size = await conn.read(buffer)) !== null;) {
      text.push(new TextDecoder().decode(buffer.subarray(0, size)));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
  }
  conn.close();
  return text.join("");
}

/** Sends a text, optionally in pieces, and reads the response. */
async function exchange(conn: Deno.TcpConn, ...pieces: string[]): Promise<string> {
  for (const piece of pieces) {
    for (let rest = bytes(piece); rest.length > 0;) {
      rest = rest.subarray(await conn.write(rest).catch(() => rest.length));
    }
    await systemClock.pollSockets();
  }
  return await readAll(conn);
}

Deno.test("parseRequest() accepts only requests that conform to the RFCs", () => {
  const read = (text: string) => parseRequest(new TextEncoder().encode(text));
  for (
    const [text, path, host] of [
      ["GET / HTTP/1.0", "/", undefined],
      ["GET /metrics?a=b#c HTTP/1.1\r\nHost: 127.1:9150\r\nAccept: */*", "/metrics", "127.0.0.1"],
      ["GET http://host:9150/metrics?x HTTP/1.1\r\nhost:other", "/metrics", "host"],
      ["HEAD /metrics HTTP/1.1\r\nHost: [::1]:9150\r\nX-Empty:", "/metrics", "[::1]"],
      ["GET /metrics HTTP/1.1\r\nHost:", "/metrics", ""],
    ] as const
  ) {
    const request = read(text);
    assert(request !== 400, text);
    const { method, path: readPath, host: readHost } = request;
    assertEquals([method, readPath, readHost], [text.split(" ")[0], path, host]);
  }
  const full = read("GET /p?a=b%20c&a=d#e HTTP/1.1\r\nHost: x\r\nAccept: a\r\nACCEPT:b");
  assert(full !== 400);
  assertEquals([...full.query], [["a", "b c"], ["a", "d"]]);
  assertEquals(full.headers, new Map([["host", "x"], ["accept", "a, b"]]));
  for (
    const bad of [
      ...["", "GET", "GET /metrics", "GET /metrics HTTP/2.0", "GET  /metrics HTTP/1.1"],
      ...["GET /metrics HTTP/1.1", "GET metrics HTTP/1.0", "GET * HTTP/1.0", "PRI * HTTP/2.0"],
      ...["GET /metrics HTTP/1.1\r\nHost: [", "GET /metrics HTTP/1.1\r\nHost: a b"],
      ...["GET /metrics HTTP/1.1\r\nHost: a/b", "GET /metrics HTTP/1.1\r\nHost: u@h"],
      ...["GET /metrics HTTP/1.1\r\nHost: a\r\nHost: a", "GET /metrics HTTP/1.1\r\nHost : a"],
      ...["GET /metrics HTTP/1.1\r\nHost: a\r\n folded: b", "GET http://[/ HTTP/1.1\r\nHost: a"],
      ...["GET /metrics HTTP/1.1\r\nHost: a\r\nbare", "GET /metrics HTTP/1.1\nHost: a"],
      ...["GET /metrics HTTP/1.1\r\nHost: a\r\nX: \x00", "G(T /metrics HTTP/1.1\r\nHost: a"],
    ]
  ) assertEquals(read(bad), 400, JSON.stringify(bad));
});

Deno.test("a request gets one response, whole or in pieces, and the connection is closed", async () => {
  const { server, connect, paths } = serve();
  await using _server = server;
  const whole = await exchange(await connect(), GET);
  assertEquals(whole.split("\r\n")[0], "HTTP/1.1 200 OK");
  assert(whole.includes("content-length: 7\r\n") && whole.includes("connection: close\r\n"));
  assert(whole.endsWith("\r\n\r\na page\n"));
  assertEquals(await exchange(await connect(), ...GET), whole);
  assertEquals(await exchange(await connect(), GET + GET), whole);
  const head = await exchange(await connect(), GET.replace("GET", "HEAD"));
  assert(head.includes("content-length: 7") && head.endsWith("\r\n\r\n"));
  assertEquals(paths.length, 4);
});

Deno.test("an invalid request gets status 400, a long one 431, and neither gets the page", async () => {
  const { server, connect, paths } = serve();
  await using _server = server;
  const status = async (text: string) => (await exchange(await connect(), text)).split(" ")[1];
  assertEquals(await status("GET /metrics HTTP/1.1\r\nHost: [\r\n\r\n"), "400");
  assertEquals(await status("\x16\x03\x01\x02\x00\x01\r\n\r\n"), "400"); // TLS
  assertEquals(await status(`GET /metrics HTTP/1.1\r\nX: ${"a".repeat(8200)}`), "431");
  const conn = await connect();
  await conn.write(bytes("GET /met"));
  await conn.closeWrite();
  assertStringIncludes(await readAll(conn), " 400 ");
  assertEquals(paths, []);
});

Deno.test("on loopback, only requests for loopback get the page", async () => {
  const { server, connect, paths } = serve();
  await using _server = server;
  const head = async (text: string) => (await exchange(await connect(), `${text}\r\n\r\n`));
  const get = (host: string) => head(`GET /metrics HTTP/1.1\r\nHost: ${host}`);
  const local = [
    ...[
      "localhost",
      "LOCALHOST:9150",
      "localhost.",
      "a.localhost:1",
      "127.0.0.1:9150",
      "127.9.9.9",
    ],
    ...["[::1]:9150", "[::ffff:127.0.0.1]"],
  ];
  for (const host of local) assertStringIncludes(await get(host), "a page", host);
  assertStringIncludes(await head("GET /metrics HTTP/1.0"), "a page");
  assertEquals(paths.length, local.length + 1);
  const others = [
    ...["evil.test", "evil.test:9150", "localhost.evil.test", "notlocalhost", "192.0.2.1", ""],
    ...["127.0.0.1.evil.test", "0.0.0.0", "[::]", "[2001:db8::1]", "localhost%2eevil.test"],
  ];
  for (const host of others) {
    const reply = await get(host);
    assertStringIncludes(reply, "HTTP/1.1 421 Misdirected Request\r\n", host);
    assert(reply.endsWith("request localhost or a loopback address\n"), reply);
  }
  const absolute = "GET http://evil.test/metrics HTTP/1.1\r\nHost: localhost";
  assertStringIncludes(await head(absolute), " 421 ");
  assertEquals(paths.length, local.length + 1);
});

Deno.test("a server on a public address accepts every host name", async () => {
  const { server, connect } = serve("0.0.0.0");
  await using _server = server;
  const request = GET.replace("localhost", "metrics.example:9150");
  assertStringIncludes(await exchange(await connect(), request), "a page");
});

Deno.test("empty lines before a request are skipped", async () => {
  const { server, connect, paths } = serve();
  await using _server = server;
  for (const text of [`\r\n${GET}`, `\r\n\r\n\r\n${GET}`]) {
    assertStringIncludes(await exchange(await connect(), text), "a page");
    assertStringIncludes(await exchange(await connect(), ...text), "a page");
  }
  assertEquals(paths.length, 4);
  assertStringIncludes(await exchange(await connect(), "\r\n".repeat(4096)), " 431 ");
  assertStringIncludes(await exchange(await connect(), `\r${GET}`), " 400 ");
});

Deno.test("a request that takes longer than ten seconds gets 408", async () => {
  const { server, clock, connect } = serve();
  await using _server = server;
  const conn = await connect();
  await conn.write(bytes("GET /metrics HTTP/1.1\r\n"));
  await until(() => server.connections === 1);
  clock.move(9999);
  await conn.write(bytes("Host: x\r\n"));
  clock.move(1);
  const reply = readAll(conn);
  assertStringIncludes(await reply, " 408 Request Timeout");
});

Deno.test("at most 32 connections are open; further ones are closed at once", async () => {
  const { server, clock, connect } = serve();
  await using _server = server;
  const idle = await Promise.all(Array.from({ length: MAX_CONNECTIONS }, connect));
  await until(() => server.connections === MAX_CONNECTIONS);
  for (let i = 0; i < 50; i++) assertEquals(await readAll(await connect()), "");
  assertEquals(server.connections, MAX_CONNECTIONS);
  // Connections older than a second are replaced by new ones that request the page.
  clock.move(1000);
  for (let i = 0; i < 10; i++) assertStringIncludes(await exchange(await connect(), GET), "a page");
  assert(server.connections <= MAX_CONNECTIONS);
  for (const conn of idle) conn.close();
});

Deno.test("a client that sends or reads endlessly uses one connection, for a bounded time", async () => {
  const { server, clock, connect } = serve();
  await using _server = server;
  const conn = await connect();
  await conn.write(bytes(GET));
  const flood = async () => {
    for (;;) await conn.write(new Uint8Array(1 << 16));
  };
  await flood().catch(() => {}); // the connection is reset after about a hundred KiB
  await until(() => server.connections === 0);
  conn.close();
  const holder = await connect();
  await holder.write(bytes(GET));
  await until(() => server.connections === 1);
  await systemClock.pollSockets();
  clock.move(10_000);
  await systemClock.pollSockets();
  clock.move(10_000);
  await until(() => server.connections === 0);
  holder.close();
});

Deno.test("a failure to accept connections is reported once, and accepting is retried", async () => {
  const troubles: string[] = [];
  const clock = new ManualClock();
  const { promise: closed, reject } = Promise.withResolvers<never>();
  let tries = 0;
  const listener = {
    accept: () =>
      ++tries <= 3 ? Promise.reject(new Error("Too many open files (os error 24)")) : closed,
    close: () => reject(new Error("closed")),
  } as unknown as Deno.TcpListener;
  {
    const respond = () => ({ status: 200 as const, body: bytes("") });
    const onTrouble = (reason: string) => troubles.push(reason);
    await using _server = new HttpServer(listener, { clock, onTrouble, respond });
    for (let i = 0; i < 4; i++) {
      await systemClock.pollSockets();
      clock.move(1000);
    }
    await until(() => tries === 4);
  }
  assertEquals(troubles, ["Too many open files (os error 24)"]);
});

Deno.test("without a descriptor for a new connection, the one idle the longest is closed", async () => {
  const real = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const shortage = Object.assign(new Error("Too many open files"), { code: "EMFILE" });
  const troubles: string[] = [];
  let counted: HttpServer | undefined;
  const listener = {
    addr: real.addr,
    // Three descriptors: as long as three connections are open, none can be accepted.
    accept: () => counted?.connections === 3 ? Promise.reject(shortage) : real.accept(),
    close: () => real.close(),
  } as unknown as Deno.TcpListener;
  const server = new HttpServer(listener, {
    clock: new ManualClock(),
    onTrouble: (reason) => troubles.push(reason),
    respond: () => ({ status: 200, body: bytes("a page\n") }),
  });
  await using _server = counted = server;
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port: real.addr.port });
  const [first, second] = [await connect(), await connect()];
  await until(() => server.connections === 2);
  const third = await connect();
  let isClosed = false;
  void readAll(first).then(() => isClosed = true);
  await until(() => isClosed);
  for (let i = 0; i < 3; i++) assertStringIncludes(await exchange(await connect(), GET), "a page");
  assertEquals(await readAll(second), "");
  assertEquals(troubles, []);
  third.close();
});

/** Polls sockets until a condition is met. */
async function until(holds: () => boolean): Promise<void> {
  for (let looks = 0; !holds(); looks++) {
    assert(looks < 2000, "it never holds");
    await systemClock.pollSockets();
  }
}
