import { assertEquals } from "@std/assert";
import { newEvent, type ServerEvent } from "../../src/store/events/watch_event.ts";
import { withEventLimit } from "../../src/watch/event_limit.ts";

const MINUTE = 60_000;

function changed(port: number, at: number, ...columns: string[]): ServerEvent {
  const changes = Object.fromEntries(
    (columns.length === 0 ? ["motd"] : columns).map((name) => [name, [1, 2] as const]),
  );
  const subject = { host: "10.0.0.7", port, requested_as: null, scan_id: "watch", name: null };
  return newEvent({ ...subject, at, id: "event" }, { event: "changed", changes });
}

Deno.test("a column that changes often hides no other one", () => {
  const reported: string[] = [];
  const report = withEventLimit((event) => {
    if (event.event !== "changed") throw new Error(event.event);
    reported.push(`${Object.keys(event.changes)}${event.limit_reached ? "!" : ""}`);
  });
  for (let minute = 1; minute <= 13; minute++) report(changed(1, minute * MINUTE, "motd"));
  assertEquals(reported.splice(0), [...Array(11).fill("motd"), "motd!"]);
  report(changed(1, 14 * MINUTE, "version"));
  report(changed(1, 15 * MINUTE, "motd", "version"));
  assertEquals(reported, ["version", "version"]);
});

Deno.test("events of a kind and server are limited per hour, unless a database has stored them", () => {
  const reported: (readonly [minute: number, port: number, isLast: boolean])[] = [];
  const report = withEventLimit((event) => {
    if (event.event !== "changed") throw new Error(event.event);
    reported.push([event.at / MINUTE, event.port, event.limit_reached ?? false]);
  });
  const take = () => reported.splice(0);
  for (let minute = 1; minute <= 20; minute++) report(changed(1, minute * MINUTE));
  assertEquals(take(), Array.from({ length: 12 }, (_, i) => [i + 1, 1, i === 11] as const));
  report(changed(2, 21 * MINUTE));
  report(changed(1, 22 * MINUTE), true);
  report(changed(1, 60 * MINUTE));
  report(changed(1, 61 * MINUTE));
  report(changed(1, 62 * MINUTE));
  assertEquals(take(), [[21, 2, false], [22, 1, false], [61, 1, true], [62, 1, true]]);
  report(changed(1, 1000 * MINUTE));
  report(changed(1, 5 * MINUTE)); // the clock was set back
  assertEquals(take(), [[1000, 1, false], [5, 1, false]]);
});
