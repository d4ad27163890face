import { assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { differencesOf } from "../../../src/store/events/compare.ts";
import { record } from "../records.ts";

Deno.test("a cut reply may have cut texts and lists, but no cut numbers", () => {
  const whole = record(1, { players_max: 100, protocol_version: 766, map: "world" });
  const changed = (before: Partial<ServerRecord>, now: Partial<ServerRecord>) =>
    differencesOf({ ...whole, ...before }, { ...whole, ...now }, PROTOCOLS).flatMap((event) =>
      event.event === "changed" ? Object.keys(event.changes) : event.event
    );
  const flags = ["truncated"];
  assertEquals(changed({}, { map: "wor", flags }), []);
  assertEquals(changed({}, { players_max: null, flags }), []);
  assertEquals(changed({}, { players_max: 10, protocol_version: 7, flags }), [
    "protocol_version",
    "players_max",
  ]);
  assertEquals(changed({ players_max: 10, flags }, {}), ["players_max"]);
  assertEquals(changed({}, { map: "wor", flags: ["cut"] }), []);
});
