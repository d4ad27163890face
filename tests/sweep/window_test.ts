import { assert, assertEquals } from "@std/assert";
import { Window } from "../../src/sweep/window.ts";

Deno.test("Window is open while few answer", () => {
  const window = new Window(4);
  window.sent(100_000, 1000);
  for (let i = 0; i < 10_000; i++) window.answered(5, 1010);
  assertEquals(window.room(1020), Infinity);
});

Deno.test("Window holds 128 probes a socket where many answer", () => {
  const window = new Window(4);
  window.sent(1000, 1000);
  for (let i = 0; i < 700; i++) window.answered(5, 1001);
  assertEquals(window.room(1002), 512 - 300);
  window.sent(212, 1003);
  assertEquals(window.room(1003), 0);
});

Deno.test("Window forgets probes that will not be answered", () => {
  const window = new Window(1);
  window.sent(200, 1000);
  for (let i = 0; i < 40; i++) window.answered(20, 1030);
  assertEquals(window.room(1050), 0); // 160 under way, for four round trips of 20 ms
  assertEquals(window.room(1110), 128);
});

Deno.test("Window waits longer where round trips are unknown", () => {
  const window = new Window(1);
  window.sent(200, 1000);
  for (let i = 0; i < 40; i++) window.answered(undefined, 1030);
  assertEquals(window.room(1200), 0);
  assert(window.room(1300) > 0);
});

Deno.test("Window starts anew after a pause", () => {
  const window = new Window(1);
  window.sent(500, 1000);
  for (let i = 0; i < 400; i++) window.answered(1, 1001);
  assertEquals(window.room(10_000), Infinity);
});
