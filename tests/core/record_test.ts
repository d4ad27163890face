import { assertEquals } from "@std/assert";
import { emptyRecord, FIELDS, serverId } from "../../src/core/record.ts";

/** The CSV order. Older files have to stay readable, so columns are appended and never moved. */
const ORDER = [
  ..."host port protocol protocols edition software name motd motd_plain version".split(" "),
  ..."protocol_version map gamemode players_online players_max players plugins guid".split(" "),
  ..."port_v4 port_v6 latency_ms seen_at flags extras software_confidence proxy".split(" "),
  ..."alias_of requested_as joinable mtu raknet_protocol favicon_hash scan_id".split(" "),
];

Deno.test("FIELDS keeps its order", () => {
  assertEquals(FIELDS.map(({ name }) => name as string), ORDER);
});

Deno.test("emptyRecord() has every field, null where nullable", () => {
  const record = emptyRecord({ address: 1n, port: 19133 }, 5);
  assertEquals(Object.keys(record), ORDER);
  for (const { name, nullable } of FIELDS) assertEquals(record[name] === null, nullable, name);
  assertEquals([record.host, record.port, record.seen_at], ["::1", 19133, 5]);
  assertEquals(serverId(record), "[::1]:19133");
});
