/** Connections of src/app/http/http_server.ts that serve several requests, bodies and streams. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { HttpServer, type HttpServerOptions } from "../../../src/app/http/http_server.ts";
import type { HttpRequest } from "../../../src/app/http/http_request.ts";
import type { HttpResponse } from "../../../src/app/http/http_response.ts";
import { systemClock } from "../../../src/net/clock.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const LIMITS = { maxHead: 8192, maxBody: 100 };

type Respond = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

function serve(respond: Respond, options: Partial<HttpServerOptions> = {}) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const server = new HttpServer(listener, {
    clock: systemClock,
    onTrouble: (reason) => {
      throw new Error(reason);
    },
    respond,
    limits: LIMITS,
    idleMs: 5000,
    ...options,
  });
  return {
    server,
    connect: () => Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
  };
}

/** A client that reads texts up to a mark. */
async function client(connect: () => Promise<Deno.TcpConn>) {
  const conn = await connect();
  let text = "";
  const buffer = new Uint8Array(4096);
  return {
    conn,
    send: (text: string) => conn.write(bytes(text)),
    /** What the server sends up to a mark; without a mark, to the end of the connection. */
    async read(mark?: string): Promise<string> {
      while (mark === undefined || !text.includes(mark)) {
        const size = await conn.read(buffer).catch(() => null);
        if (size === null) return text;
        text += new TextDecoder().decode(buffer.subarray(0, size));
      }
      const end = text.indexOf(mark) + mark.length;
      const found = text.slice(0, end);
      text = text.slice(end);
      return found;
    },
    [Symbol.dispose]: () => conn.close(),
  };
}

const page: Respond = ({ path, body }) => ({
  status: 200,
  body: bytes(`${path} ${new TextDecoder().decode(body)}.\n`),
});
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

Deno.test("a connection serves several requests, also if they arrive together", async () => {
  const { server, connect } = serve(page);
  await using _server = server;
  using one = await client(connect);
  for (const path of ["/a", "/b"]) {
    await one.send(get(path));
    const reply = await one.read(" .\n");
    assertStringIncludes(reply, "connection: keep-alive\r\n");
    assert(reply.endsWith(`\r\n\r\n${path} .\n`), reply);
  }
  await one.send(get("/c") + get("/d") + get("/e", "Connection: close\r\n") + get("/f"));
  const replies = await one.read();
  assertEquals(replies.match(/\/\w(?= \.)/g), ["/c", "/d", "/e"]);
  assertEquals(replies.match(/connection: \S+/g), [
    "connection: keep-alive",
    "connection: keep-alive",
    "connection: close",
  ]);
});

Deno.test("an HTTP/1.0 client gets one response per connection", async () => {
  const { server, connect } = serve(page);
  await using _server = server;
  using one = await client(connect);
  await one.send("GET /a HTTP/1.0\r\n\r\n");
  assertStringIncludes(await one.read(), "connection: close\r\n");
});

Deno.test("a body is read, and a large, chunked or ambiguous one is refused", async () => {
  const { server, connect } = serve(page);
  await using _server = server;
  using one = await client(connect);
  const post = (headers: string, body: string) =>
    `POST /p HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
  await one.send(post("Content-Length: 5\r\n", "token") + get("/next"));
  assertStringIncludes(await one.read("/p token.\n"), " 200 ");
  assertStringIncludes(await one.read("/next .\n"), " 200 ");
  for (
    const [headers, status] of [
      ["Content-Length: 101\r\n", 413],
      ["Transfer-Encoding: chunked\r\n", 411],
      ["Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400],
      ["Content-Length: 5\r\nContent-Length: 6\r\n", 400],
      ["Content-Length: -1\r\n", 400],
    ] as const
  ) {
    using other = await client(connect);
    await other.send(post(headers, "token"));
    const reply = await other.read();
    assertStringIncludes(reply, `HTTP/1.1 ${status} `, headers);
    assertStringIncludes(reply, "connection: close");
  }
});

Deno.test("an idle connection is closed without a response", async () => {
  const { server, connect } = serve(page, { idleMs: 1 });
  await using _server = server;
  using one = await client(connect);
  await one.send(get("/a"));
  await one.read(" .\n");
  assertEquals(await one.read(), "");
});

Deno.test("HEAD and 304 have no body, and the connection stays usable", async () => {
  const { server, connect } = serve((request) =>
    request.path === "/same" ? { status: 304, body: bytes("") } : page(request)
  );
  await using _server = server;
  using one = await client(connect);
  await one.send(get("/a").replace("GET", "HEAD"));
  assertStringIncludes(await one.read("\r\n\r\n"), "content-length: 5");
  await one.send(get("/same"));
  assert(!(await one.read("\r\n\r\n")).includes("content-length"));
  await one.send(get("/b"));
  assert((await one.read(".\n")).endsWith("/b .\n"));
});

Deno.test("a stream is sent in chunks as it is produced, and to HTTP/1.0 clients without chunks", async () => {
  const parts = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const { server, connect } = serve(() => ({
    status: 200,
    async *stream() {
      for (const { promise } of parts) yield bytes(await promise);
    },
  }));
  await using _server = server;
  using one = await client(connect);
  await one.send(get("/live"));
  assertStringIncludes(await one.read("\r\n\r\n"), "transfer-encoding: chunked");
  parts[0].resolve("first");
  assertEquals(await one.read("first\r\n"), "5\r\nfirst\r\n");
  parts[1].resolve("");
  assertEquals(await one.read(), "0\r\n\r\n");
  using old = await client(connect);
  await old.send("GET /live HTTP/1.0\r\n\r\n");
  const reply = await old.read();
  assert(!reply.includes("chunked") && reply.endsWith("\r\n\r\nfirst"), reply);
});

/** A server of streams that wait until their signal is aborted. */
function serveWaiting(options: Partial<HttpServerOptions> = {}) {
  const ended = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const { server, connect } = serve((request) =>
    request.path !== "/live" ? page(request) : {
      status: 200,
      async *stream(signal) {
        yield bytes("begin");
        started.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended.resolve();
      },
    }, options);
  return { server, connect, started: started.promise, ended: ended.promise };
}

Deno.test("a stream ends when its client closes the connection", async () => {
  const { server, connect, started, ended } = serveWaiting();
  await using _server = server;
  {
    using one = await client(connect);
    await one.send(get("/live"));
    await started;
  }
  await ended;
});

Deno.test("onEnd() is called once for each stream: after it, if it fails, and if it never begins", async () => {
  let ends = 0;
  const { server, connect } = serve(({ path }) => ({
    status: 200,
    async *stream() {
      yield bytes("part");
      if (path === "/broken") throw new Error("the database is gone");
    },
    onEnd: () => ends++,
  }));
  await using _server = server;
  const requests = [get("/whole"), get("/broken"), get("/whole").replace("GET", "HEAD")];
  for (const [i, request] of requests.entries()) {
    using one = await client(connect);
    await one.send(request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    await one.read();
    assertEquals(ends, i + 1);
  }
});

Deno.test("streams end when the server ends", async () => {
  const { server, connect, started, ended } = serveWaiting();
  using one = await client(connect);
  await one.send(get("/live"));
  await started;
  await server[Symbol.asyncDispose]();
  await ended;
  assert(!(await one.read()).endsWith("0\r\n\r\n"));
});

Deno.test("a stream that fails closes the connection before the end of its body", async () => {
  const { server, connect } = serve(() => ({
    status: 200,
    // deno-lint-ignore require-yield
    async *stream() {
      throw new Error("the database is gone");
    },
  }));
  await using _server = server;
  using one = await client(connect);
  await one.send(get("/export"));
  const reply = await one.read();
  assert(reply.includes("chunked") && !reply.endsWith("0\r\n\r\n"), reply);
});

Deno.test("at the maximum, a new connection replaces an idle one, and not one with a stream", async () => {
  let now = 0;
  const { server, connect, started } = serveWaiting({
    maxConnections: 2,
    clock: { ...systemClock, now: () => now },
  });
  await using _server = server;
  using live = await client(connect);
  await live.send(get("/live"));
  await started;
  using idle = await client(connect);
  await idle.send(get("/a"));
  await idle.read(" .\n");
  now = 2000;
  using next = await client(connect);
  await next.send(get("/b"));
  assertStringIncludes(await next.read(" .\n"), "/b");
  assertEquals(await idle.read(), "");
  assertEquals(server.connections, 2);
});

Deno.test("idle connections do not cut a request in progress; if all are busy, a new one is refused", async () => {
  let [now, running] = [0, 0];
  const probed = Promise.withResolvers<void>();
  const { server, connect } = serve(async (request) => {
    if (request.path === "/probe") {
      running++;
      await probed.promise;
    }
    return page(request);
  }, { maxConnections: 3, clock: { ...systemClock, now: () => now } });
  await using _server = server;
  await using stack = new AsyncDisposableStack();
  const opened = async (path: string) => {
    now += 2000;
    const one = stack.use(await client(connect));
    await one.send(get(path));
    return one;
  };
  const probing = [await opened("/probe")];
  for (let idle = 0; idle < 5; idle++) {
    assertStringIncludes(await (await opened("/a")).read(" .\n"), "/a");
  }
  probing.push(await opened("/probe"), await opened("/probe"));
  while (running < 3) await systemClock.pollSockets();
  assertEquals(await (await opened("/a")).read(), "");
  assertEquals(server.connections, 3);
  probed.resolve();
  for (const one of probing) assertStringIncludes(await one.read(" .\n"), "/probe");
  assertStringIncludes(await (await opened("/a")).read(" .\n"), "/a");
});
