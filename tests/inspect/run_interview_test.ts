import { assertEquals } from "@std/assert";
import { queryWithRetries } from "../../src/inspect/run_interview.ts";
import type { Link } from "../../src/net/socket.ts";
import { nethernetProtocol } from "../../src/protocols/nethernet/mod.ts";
import { ManualClock } from "../fakes/manual_clock.ts";

/** A connection whose peer replies with this text. */
function connection(text: string): Link {
  return {
    stream: { end: undefined, opened: true, renew: () => {} },
    send: () => Promise.resolve(true),
    next: () => Promise.resolve(new TextEncoder().encode(text)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

Deno.test("a malformed reply over a stream is not requested again", async () => {
  let opened = 0;
  const outcome = await queryWithRetries(nethernetProtocol, {
    endpoint: { address: 0x7f000001, port: 19132 },
    exclusive: true,
    timeoutMs: 1000,
    stopsWithoutFirstReply: false,
    open: () => {
      opened++;
      return Promise.resolve(connection("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    },
  }, {
    retries: 3,
    clock: new ManualClock(),
    signal: new AbortController().signal,
    nonce: () => 0n,
  });
  assertEquals([outcome.kind, opened], ["malformed", 1]);
});
