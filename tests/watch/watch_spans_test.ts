import { assertEquals } from "@std/assert";
import { WatchSpans } from "../../src/watch/watch_spans.ts";

const span = (startedAt: number, endedAt: number) => ({ startedAt, endedAt });

Deno.test("a span begins once, grows, and is written until it has ended", () => {
  const spans = new WatchSpans();
  assertEquals(spans.pending(5), []);
  spans.begin(10);
  spans.begin(20);
  assertEquals(spans.pending(30), [span(10, 30)]);
  spans.written(spans.pending(30));
  assertEquals(spans.pending(40), [span(10, 40)]);
  spans.end(50);
  assertEquals(spans.isOpen, false);
  assertEquals(spans.pending(45), [span(10, 45)]); // later results are not written yet
  spans.written(spans.pending(45));
  const last = spans.pending(60);
  assertEquals(last, [span(10, 50)]);
  spans.written(last);
  assertEquals(spans.pending(70), []);
});

Deno.test("an end in the past shortens a written span, and omits one that is not written", () => {
  const spans = new WatchSpans();
  spans.begin(100);
  spans.end(90);
  assertEquals(spans.pending(1000), []);
  spans.begin(200);
  spans.written(spans.pending(300));
  spans.end(150);
  assertEquals(spans.pending(1000), [span(200, 200)]);
});

Deno.test("minutes in which the process was suspended do not count as watched", () => {
  const spans = new WatchSpans();
  spans.begin(0);
  for (let at = 0; at <= 600_000; at += 60_000) spans.alive(at);
  assertEquals(spans.observeSince, 0);
  spans.alive(900_000);
  assertEquals(spans.pending(950_000), [span(0, 600_000), span(900_000, 950_000)]);
  assertEquals(spans.observeSince, 900_000);
});

Deno.test("a clock that is set back by more than three minutes begins a span", () => {
  const spans = new WatchSpans();
  spans.begin(1_000_000);
  spans.alive(900_000);
  assertEquals(spans.pending(1_100_000), [span(1_000_000, 1_100_000)]);
  spans.alive(500_000);
  spans.alive(510_000);
  assertEquals(spans.pending(520_000), [span(500_000, 520_000)]);
  assertEquals(spans.pending(1_100_000), [span(500_000, 1_100_000)]);
  assertEquals(spans.observeSince, 500_000);
});

Deno.test("a period whose observations were lost is omitted", () => {
  const spans = new WatchSpans();
  spans.begin(0);
  spans.leaveOut(100, 200);
  spans.leaveOut(200, 300);
  assertEquals(spans.pending(400), [span(0, 100), span(300, 400)]);
  assertEquals(spans.observeSince, 0);
});
