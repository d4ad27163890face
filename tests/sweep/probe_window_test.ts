import { assert, assertEquals } from "@std/assert";
import { USUAL_RECEIVE_BUFFER } from "../../src/net/deno/udp_socket.ts";
import { capacityOf, ProbeWindow, socketsFor } from "../../src/sweep/probe_window.ts";

const SOCKET = { receiveBuffer: USUAL_RECEIVE_BUFFER };
const windowOf = (sockets: number) => new ProbeWindow(Array(sockets).fill(SOCKET));

Deno.test("socketsFor() keeps the answers on each below what its buffer holds", () => {
  const sockets = (receiveBuffer: number) =>
    [1, 256, 1024, 1025, 2000].map((concurrency) => socketsFor(concurrency, receiveBuffer));
  assertEquals(sockets(USUAL_RECEIVE_BUFFER), [16, 16, 16, 17, 32]);
  assertEquals(sockets(8 * USUAL_RECEIVE_BUFFER), [2, 2, 2, 3, 4]);
  assertEquals(sockets(128 << 20), [1, 1, 1, 1, 1]);
});

Deno.test("Window grows with what the buffers hold, up to a bound", () => {
  const room = (receiveBuffer: number) => new ProbeWindow([{ receiveBuffer }]).room(1000);
  assertEquals(capacityOf([SOCKET, SOCKET]), 512);
  assertEquals([1, 4].map((times) => room(times * USUAL_RECEIVE_BUFFER)), [64, 256]);
  assertEquals([64, 128].map((mib) => room(mib << 20)), [20_164.75, 32_768]); // before anybody can answer
  assertEquals(room(1), 0.25);
});

Deno.test("ProbeWindow is open while few answer", () => {
  const window = windowOf(4);
  window.sent(1000, 1000);
  for (let i = 0; i < 100; i++) window.answered(5, 1010);
  assertEquals(window.room(1260), Infinity);
});

Deno.test("Window takes everybody for alive until it is known, so that nothing bursts", () => {
  const window = windowOf(4);
  assertEquals(window.room(1000), 256);
  window.sent(256, 1000);
  assertEquals(window.room(1200), 0);
  assertEquals(window.room(1260), Infinity); // nobody answers: this is sparse
});

Deno.test("Window knows early who does not answer, where some do and are quick", () => {
  /** The room after 4,096 probes, all that there is, and so many answers 40 ms later. */
  const rooms = (answers: number, latencyMs: number, times: readonly number[]) => {
    const window = windowOf(64);
    window.sent(4096, 1000);
    for (let i = 0; i < answers; i++) window.answered(latencyMs, 1040);
    return times.map((time) => window.room(time));
  };
  assertEquals(rooms(32, 5, [1049, 1060]), [32, Infinity]);
  assertEquals(rooms(31, 5, [1060, 1240]), [31, 31]); // too few tell nothing
  assertEquals(rooms(32, 30, [1110, 1130]), [32, Infinity]);
  assertEquals(rooms(410, 5, [1060]), [4096]); // one in ten: the window applies, and all is back
});

Deno.test("Window holds 64 probes a socket where many answer", () => {
  const window = windowOf(4);
  window.sent(1000, 1000);
  for (let i = 0; i < 900; i++) window.answered(5, 1001);
  assertEquals(window.room(1002), 256 - 100);
  window.sent(156, 1003);
  assertEquals(window.room(1003), 0);
});

Deno.test("Window forgets probes that are not answered as usual", () => {
  const window = windowOf(1);
  for (let at = 1000; at < 1400; at += 10) {
    window.sent(20, at); // every other answers
    for (let i = 0; i < 10; i++) window.answered(5, at + 5);
  }
  window.sent(64, 1400);
  assertEquals(window.room(1410), 0);
  assertEquals(window.room(1460), 64 - 32); // those that should have come
});

Deno.test("Window keeps room for answers that are held up", () => {
  const window = windowOf(2);
  for (let at = 1000; at < 1400; at += 10) {
    window.sent(20, at);
    for (let i = 0; i < 20; i++) window.answered(5, at + 5);
  }
  window.sent(128, 1400);
  assertEquals(window.room(1600), 0);
  for (let i = 0; i < 128; i++) window.answered(205, 1605);
  assertEquals(window.room(1605), 128);
});

Deno.test("Window waits longer where round trips are unknown", () => {
  const window = windowOf(1);
  window.sent(200, 1000);
  for (let i = 0; i < 40; i++) window.answered(undefined, 1030);
  assertEquals(window.room(1200), 0);
  assert(window.room(1300) > 0);
});

Deno.test("Window starts anew after a pause", () => {
  const window = windowOf(1);
  window.sent(500, 1000);
  for (let i = 0; i < 400; i++) window.answered(1, 1001);
  assertEquals(window.room(10_000), 64);
});

Deno.test("ProbeWindow is shut while answers wait to be read", () => {
  const buffer = { receiveBuffer: 128 << 20, receiveBufferUsed: 0 };
  const small = { receiveBuffer: USUAL_RECEIVE_BUFFER, receiveBufferUsed: 0 };
  const window = new ProbeWindow([small, buffer]);
  assert(window.room(1000) > 0);
  buffer.receiveBufferUsed = 1025 * 832;
  assert(window.room(1001) > 0); // that was just looked at
  assertEquals(window.room(1002), 0);
  buffer.receiveBufferUsed = 1024 * 832;
  assert(window.room(1004) > 0);
  small.receiveBufferUsed = 65 * 832; // a quarter of what it holds, and more
  assertEquals(window.room(1006), 0);
});
