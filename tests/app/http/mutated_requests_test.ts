/** Mutated requests to src/app/http/http_server.ts: each gets a response, or the end of the connection. */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { HttpServer } from "../../../src/app/http/http_server.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { Mutator } from "../../fuzz/mutator.ts";

const CONNECTIONS = 2000;

/** The requests of a connection before they are changed. */
const REQUESTS = [
  "GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
  "POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntoken=abc",
  "HEAD /a HTTP/1.1\r\nHost: [::1]:80\r\nConnection: keep-alive\r\n\r\n",
  "POST /p HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  "POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken=abc",
  "GET http://localhost/ HTTP/1.0\r\nHost: localhost\r\n\r\n",
];
const encoder = new TextEncoder();
/** One to three requests that follow one another. */
const SEEDS = REQUESTS.flatMap((text, i) => [
  encoder.encode(text),
  encoder.encode(text + REQUESTS[(i + 1) % REQUESTS.length]),
  encoder.encode(text + text + REQUESTS[(i + 2) % REQUESTS.length]),
]);

Deno.test("mutated requests get valid responses, and the server keeps serving", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const errors: string[] = [];
  await using server = new HttpServer(listener, {
    clock: systemClock,
    onTrouble: (reason) => errors.push(reason),
    respond: ({ method, body }) => ({
      status: 200,
      body: new TextEncoder().encode(`${method} ${body.length}`),
    }),
    limits: { maxHead: 1024, maxBody: 9 },
    idleMs: 1000,
  });
  const mutator = new Mutator(SEEDS, new Random(8420));
  const statuses = new Set<string>();
  for (let i = 0; i < CONNECTIONS; i++) {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
    await conn.write(mutator.next()).catch(() => {});
    await conn.closeWrite().catch(() => {});
    const text = await new Response(conn.readable).text().catch(() => "");
    const heads = text.match(/HTTP\/1\.1 \d{3} [^\r]*/g) ?? [];
    assert(text === "" || text.startsWith("HTTP/1.1 "), text);
    for (const head of heads) statuses.add(head.slice(9, 12));
  }
  assertEquals(errors, []);
  assertEquals([...statuses].sort(), ["200", "400", "411", "413", "421", "431"]);
  for (let looks = 0; server.connections > 0 && looks < 2000; looks++) {
    await systemClock.pollSockets();
  }
  assertEquals(server.connections, 0);
});
