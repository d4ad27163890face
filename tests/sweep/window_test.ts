import { assert, assertEquals } from "@std/assert";
import { USUAL_RECEIVE_BUFFER } from "../../src/net/deno.ts";
import { capacityOf, socketsFor, Window } from "../../src/sweep/window.ts";

const SOCKET = { receiveBuffer: USUAL_RECEIVE_BUFFER };

Deno.test("socketsFor() keeps the answers on each below what its buffer holds", () => {
  const sockets = (receiveBuffer: number) =>
    [1, 256, 1024, 1025, 2000].map((concurrency) => socketsFor(concurrency, receiveBuffer));
  assertEquals(sockets(USUAL_RECEIVE_BUFFER), [16, 16, 16, 17, 32]);
  assertEquals(sockets(8 * USUAL_RECEIVE_BUFFER), [2, 2, 2, 3, 4]);
  assertEquals(sockets(128 << 20), [1, 1, 1, 1, 1]);
});

Deno.test("Window grows with what the buffers hold, up to a bound", () => {
  const room = (receiveBuffer: number) => new Window(capacityOf([{ receiveBuffer }])).room(1000);
  assertEquals(capacityOf([SOCKET, SOCKET]), 512);
  assertEquals([1, 4].map((times) => room(times * USUAL_RECEIVE_BUFFER)), [64, 256]);
  assertEquals(room(128 << 20), 16_384);
  assertEquals(room(1), 0.25);
});

Deno.test("Window is open while few answer", () => {
  const window = new Window(4 * 256);
  window.sent(1000, 1000);
  for (let i = 0; i < 100; i++) window.answered(5, 1010);
  assertEquals(window.room(1260), Infinity);
});

Deno.test("Window takes everybody for alive until it is known, so that nothing bursts", () => {
  const window = new Window(4 * 256);
  assertEquals(window.room(1000), 256);
  window.sent(256, 1000);
  assertEquals(window.room(1200), 0);
  assertEquals(window.room(1260), Infinity); // nobody answers: this is sparse
});

Deno.test("Window holds 64 probes a socket where many answer", () => {
  const window = new Window(4 * 256);
  window.sent(1000, 1000);
  for (let i = 0; i < 900; i++) window.answered(5, 1001);
  assertEquals(window.room(1002), 256 - 100);
  window.sent(156, 1003);
  assertEquals(window.room(1003), 0);
});

Deno.test("Window forgets probes that are not answered as usual", () => {
  const window = new Window(256);
  for (let at = 1000; at < 1400; at += 10) {
    window.sent(20, at); // every other answers
    for (let i = 0; i < 10; i++) window.answered(5, at + 5);
  }
  window.sent(64, 1400);
  assertEquals(window.room(1410), 0);
  assertEquals(window.room(1460), 64 - 32); // those that should have come
});

Deno.test("Window keeps room for answers that are held up", () => {
  const window = new Window(2 * 256);
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
  const window = new Window(256);
  window.sent(200, 1000);
  for (let i = 0; i < 40; i++) window.answered(undefined, 1030);
  assertEquals(window.room(1200), 0);
  assert(window.room(1300) > 0);
});

Deno.test("Window starts anew after a pause", () => {
  const window = new Window(256);
  window.sent(500, 1000);
  for (let i = 0; i < 400; i++) window.answered(1, 1001);
  assertEquals(window.room(10_000), 64);
});
