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
  assertEquals(changed({}, { map: "nether", flags }), ["map"]);
  assertEquals(changed({ map: null }, { map: "wor", flags }), ["map"]);
  // Another program has broken the flags of the row.
  assertEquals(changed({ flags: null as never }, { map: null }), ["map"]);
});

Deno.test("the names at the start of a cut list have to be those of the whole list", () => {
  const plugin = (name: string) => ({ name, version: "1" });
  const whole = record(1, { plugins: ["a", "b", "c"].map(plugin) });
  const changed = (plugins: string[] | null, flags: readonly string[], before = whole) =>
    differencesOf(
      before,
      { ...whole, plugins: plugins?.map(plugin) ?? null, flags: [...flags] },
      PROTOCOLS,
    )
      .map(({ event }) => event);
  const cut = ["truncated"];
  assertEquals(changed(["a", "b"], cut), []);
  assertEquals(changed(["a", "cut in its name"], cut), []);
  assertEquals(changed([], cut), []);
  assertEquals(changed(null, cut), []);
  assertEquals(changed(["x", "b"], cut), ["changed"]);
  assertEquals(changed(["a", "x", "c"], cut), ["changed"]);
  assertEquals(changed(["a", "b"], []), ["changed"]);
  assertEquals(changed(["a"], cut, { ...whole, plugins: null }), ["changed"]);
  // Software that ends every message too early: what both replies have is whole.
  assertEquals(changed(["a", "b"], cut, { ...whole, flags: cut }), ["changed"]);
  assertEquals(changed(null, cut, { ...whole, flags: cut }), []);
});

Deno.test("a record whose interview was cut short is not compared with other protocols", () => {
  const whole = record(1, {
    ...{ protocols: ["raknet", "query"], software: "PocketMine-MP", map: "w", version: "1" },
  });
  const cut = { ...whole, protocols: ["raknet"], software: null, map: null, flags: ["cutShort"] };
  const kinds = (before: ServerRecord, now: ServerRecord) =>
    differencesOf(before, now, PROTOCOLS).map(({ event }) => event);
  assertEquals([kinds(cut, whole), kinds(whole, cut)], [[], []]);
  assertEquals(kinds({ ...cut, players_online: 1 }, { ...whole, players_online: 2 }), ["players"]);
  assertEquals(kinds({ ...cut, flags: [] }, whole), ["changed"]);
  // The columns of protocols that were not sent are kept: the record has all of them.
  assertEquals(kinds({ ...whole, flags: ["cutShort"] }, { ...whole, map: "nether" }), ["changed"]);
  assertEquals(kinds(cut, { ...cut, version: "2" }), ["changed"]);
});

Deno.test("slots that only follow the players are no change", () => {
  const at = (players_online: number | null, players_max: number | null, version = "1.21.4") =>
    record(1, { players_online, players_max, version });
  const changedColumns = (before: ServerRecord, now: ServerRecord) =>
    differencesOf(before, now, PROTOCOLS).flatMap((event) =>
      event.event === "changed" ? Object.keys(event.changes) : []
    );
  assertEquals(changedColumns(at(3, 4), at(4, 5)), []);
  assertEquals(changedColumns(at(9, 9), at(2, 2)), []);
  assertEquals(changedColumns(at(3, 4), at(4, 5, "1.21.5")), ["version"]);
  assertEquals(changedColumns(at(3, 20), at(4, 30)), ["players_max"]);
  assertEquals(changedColumns(at(3, 20), at(3, 30)), ["players_max"]);
  assertEquals(changedColumns(at(null, 20), at(null, 30)), ["players_max"]);
});

Deno.test("a change of the protocol of the highest rank is reported with the list of protocols", () => {
  const changes = (before: readonly string[], now: readonly string[]) =>
    differencesOf(
      record(1, { protocols: [...before] }),
      record(1, { protocols: [...now] }),
      PROTOCOLS,
    ).map((event) => event.event === "changed" ? event.changes : event.event);
  assertEquals(changes(["raknet", "query"], ["query"]), [
    { protocol: ["raknet", "query"], protocols: [["raknet", "query"], ["query"]] },
  ]);
  assertEquals(changes(["raknet"], ["raknet", "query"]), [
    { protocols: [["raknet"], ["raknet", "query"]] },
  ]);
  assertEquals(changes(["raknet"], ["raknet"]), []);
});

Deno.test("only two different GUIDs that show restarts are a restart", () => {
  const restarts = (before: string | null, now: string | null) =>
    differencesOf(record(1, { guid: before }), record(1, { guid: now }), PROTOCOLS).length;
  assertEquals([restarts("7", "8"), restarts("7", null), restarts(null, "8")], [1, 0, 0]);
});
