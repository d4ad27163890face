import { assert, assertEquals } from "@std/assert";
import { USUAL_RECEIVE_BUFFER } from "../../src/net/deno/udp_socket.ts";
import { capacityOf, ProbeWindow, socketsFor } from "../../src/sweep/probe_window.ts";

const SOCKET = { receiveBuffer: USUAL_RECEIVE_BUFFER };
const windowOf = (sockets: number) => new ProbeWindow(Array(sockets).fill(SOCKET));

Deno.test("socketsFor() keeps the replies per socket below the capacity of its buffer", () => {
  const sockets = (receiveBuffer: number) =>
    [1, 256, 1024, 1025, 2000].map((concurrency) => socketsFor(concurrency, receiveBuffer));
  assertEquals(sockets(USUAL_RECEIVE_BUFFER), [16, 16, 16, 17, 32]);
  assertEquals(sockets(8 * USUAL_RECEIVE_BUFFER), [2, 2, 2, 3, 4]);
  assertEquals(sockets(128 << 20), [1, 1, 1, 1, 1]);
});

Deno.test("ProbeWindow grows with the capacity of the buffers, up to a maximum", () => {
  const room = (receiveBuffer: number) => new ProbeWindow([{ receiveBuffer }]).capacity(1000);
  assertEquals(capacityOf([SOCKET, SOCKET]), 512);
  assertEquals([1, 4].map((times) => room(times * USUAL_RECEIVE_BUFFER)), [64, 256]);
  assertEquals([64, 128].map((mib) => room(mib << 20)), [20_164.75, 32_768]); // before the first reply
  assertEquals(room(1), 0.25);
});

Deno.test("ProbeWindow does not limit sending while few targets reply", () => {
  const window = windowOf(4);
  window.sent(1000, 1000);
  for (let i = 0; i < 100; i++) window.replied(5, 1010);
  assertEquals(window.capacity(1260), Infinity);
});

Deno.test("ProbeWindow expects a reply of every target until the response rate is known", () => {
  const window = windowOf(4);
  assertEquals(window.capacity(1000), 256);
  window.sent(256, 1000);
  assertEquals(window.capacity(1200), 0);
  assertEquals(window.capacity(1260), Infinity); // no reply: a sparse range
});

Deno.test("ProbeWindow recognises unanswered probes early when other replies are fast", () => {
  /** The window after probes and a number of replies 40 ms later. */
  const rooms = (replies: number, latencyMs: number, times: readonly number[], probes = 4096) => {
    const window = windowOf(64);
    window.sent(probes, 1000);
    for (let i = 0; i < replies; i++) window.replied(latencyMs, 1040);
    return times.map((time) => window.capacity(time));
  };
  assertEquals(rooms(8, 5, [1049, 1060]), [8, Infinity]);
  assertEquals(rooms(7, 5, [1060, 1240]), [7, 7]); // too few replies for a measurement
  assertEquals(rooms(8, 30, [1110, 1130]), [8, Infinity]);
  assertEquals(rooms(32, 5, [1049, 1060], 320), [3808, Infinity]);
  assertEquals(rooms(31, 5, [1060, 1240], 319), [3808, 3808]); // too few probes
  assertEquals(rooms(410, 5, [1060]), [4096]); // one in ten: the window applies, and all is back
});

Deno.test("ProbeWindow allows 64 probes per socket when many targets reply", () => {
  const window = windowOf(4);
  window.sent(1000, 1000);
  for (let i = 0; i < 900; i++) window.replied(5, 1001);
  assertEquals(window.capacity(1002), 256 - 100);
  window.sent(156, 1003);
  assertEquals(window.capacity(1003), 0);
});

Deno.test("ProbeWindow stops counting probes whose replies are overdue", () => {
  const window = windowOf(1);
  for (let at = 1000; at < 1400; at += 10) {
    window.sent(20, at); // every second target replies
    for (let i = 0; i < 10; i++) window.replied(5, at + 5);
  }
  window.sent(64, 1400);
  assertEquals(window.capacity(1410), 0);
  assertEquals(window.capacity(1460), 64 - 32); // the overdue replies
});

Deno.test("ProbeWindow keeps capacity for delayed replies", () => {
  const window = windowOf(2);
  for (let at = 1000; at < 1400; at += 10) {
    window.sent(20, at);
    for (let i = 0; i < 20; i++) window.replied(5, at + 5);
  }
  window.sent(128, 1400);
  assertEquals(window.capacity(1600), 0);
  for (let i = 0; i < 128; i++) window.replied(205, 1605);
  assertEquals(window.capacity(1605), 128);
});

Deno.test("ProbeWindow waits longer while the round-trip time is unknown", () => {
  const window = windowOf(1);
  window.sent(200, 1000);
  for (let i = 0; i < 40; i++) window.replied(undefined, 1030);
  assertEquals(window.capacity(1200), 0);
  assert(window.capacity(1300) > 0);
});

Deno.test("ProbeWindow restarts after a pause", () => {
  const window = windowOf(1);
  window.sent(500, 1000);
  for (let i = 0; i < 400; i++) window.replied(1, 1001);
  assertEquals(window.capacity(10_000), 64);
});

Deno.test("ProbeWindow forgets the probes and replies of earlier seconds", () => {
  const window = windowOf(1);
  for (const start of [1000, 3000, 5000, 9000]) {
    for (let at = start; at < start + 400; at += 10) {
      window.sent(20, at); // every second target replies
      for (let i = 0; i < 10; i++) window.replied(5, at + 5);
    }
    window.sent(64, start + 400);
    assertEquals([410, 460].map((ms) => window.capacity(start + ms)), [0, 32], `${start}`);
  }
});

Deno.test("ProbeWindow allows no probe while replies are unread", () => {
  const buffer = { receiveBuffer: 128 << 20, receiveBufferUsed: 0 };
  const small = { receiveBuffer: USUAL_RECEIVE_BUFFER, receiveBufferUsed: 0 };
  const window = new ProbeWindow([small, buffer]);
  assert(window.capacity(1000) > 0);
  buffer.receiveBufferUsed = 1025 * 832;
  assert(window.capacity(1001) > 0); // unread replies were checked less than an interval ago
  assertEquals(window.capacity(1002), 0);
  buffer.receiveBufferUsed = 1024 * 832;
  assert(window.capacity(1004) > 0);
  small.receiveBufferUsed = 65 * 832; // more than a quarter of the capacity
  assertEquals(window.capacity(1006), 0);
});
