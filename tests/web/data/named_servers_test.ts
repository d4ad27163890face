/** Tests of src/web/data/named_servers.ts: which server a client of the status API means. */
import { assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import { removeServers } from "../../../src/store/forget/forget_servers.ts";
import { Store } from "../../../src/store/store.ts";
import { isOptedOut, readStatus } from "../../../src/web/data/named_servers.ts";
import { parseStatusAddress, statusQueryOf } from "../../../src/web/status/status_address.ts";
import { onEngines } from "../../store/databases.ts";
import { forgettable, record } from "../../store/records.ts";

const ICON = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+Od"; // the start of a file of 64 × 64 pixels

const java = { protocol: "slp", protocols: ["slp"], edition: "java" };
const bedrock = { edition: "bedrock" };

const FORGOTTEN = record(25565, { ...java, host: "10.0.0.7", motd: "forgotten" });

const RECORDS: readonly RecordWithAttachments[] = [
  {
    ...record(25565, { ...java, host: "10.0.0.1", motd: "plain", favicon_hash: "a1" }),
    [ATTACHMENTS]: { replies: {}, icon: ICON },
  },
  record(19132, { ...bedrock, host: "10.0.0.1", motd: "bedrock" }),
  record(25570, {
    ...java,
    host: "10.0.0.2",
    motd: "by SRV",
    requested_as: "play.example SRV mc.example:25570",
  }),
  record(25565, { ...java, host: "10.0.0.3", motd: "by name", requested_as: "own.example" }),
  record(25566, { ...java, host: "10.0.0.3", motd: "other port", requested_as: "own.example" }),
  record(25565, { ...java, host: "2001:db8::1", motd: "v6" }),
  record(25565, { ...java, host: "10.0.0.5", motd: "opted out" }),
  record(25565, {
    ...java,
    host: "10.0.0.6",
    edition: "bedrock",
    motd: "both",
    extras: { slp: { version_name: "1.21" } },
  }),
  record(25565, { ...java, host: "10.0.0.8", edition: null, motd: "unknown edition" }),
  FORGOTTEN,
];

onEngines("the status API finds servers by name, SRV record and address", async (db) => {
  await new Store(db, () => Promise.resolve()).write(RECORDS);
  await db.run("insert into opt_outs select address, first_seen from servers where motd = ?", [
    "opted out",
  ]);
  const [{ id }] = await db.rows("select id from servers where motd = ?", ["forgotten"]);
  await removeServers(db, [forgettable(FORGOTTEN, Number(id))], () => Promise.resolve());
  const motd = async (text: string, edition: "java" | "bedrock" = "java") => {
    const query = statusQueryOf(parseStatusAddress(text)!, edition);
    return (await readStatus(db, query))?.server.motd;
  };
  for (
    const [text, expected] of [
      ["10.0.0.1", "plain"],
      ["10.0.0.1:25565", "plain"],
      ["10.0.0.1:25566", undefined],
      ["10.0.0.1:19132", undefined],
      ["play.example", "by SRV"],
      ["Play.Example:25565", "by SRV"],
      ["10.0.0.2:25570", "by SRV"],
      ["own.example", "by name"],
      ["own.example:25566", "other port"],
      ["10.0.0.3", "by name"],
      ["[2001:db8::1]:25565", "v6"],
      ["2001:DB8::1", "v6"],
      ["10.0.0.5", undefined],
      ["10.0.0.6", "both"],
      ["10.0.0.7", undefined],
      ["10.0.0.8", "unknown edition"],
      ["absent.example", undefined],
      ["192.0.2.1", undefined],
    ] as const
  ) assertEquals(await motd(text), expected, text);
  assertEquals(await motd("10.0.0.1", "bedrock"), "bedrock");
  assertEquals(await motd("10.0.0.1:25565", "bedrock"), undefined);
  assertEquals(await motd("10.0.0.6:25565", "bedrock"), "both");
  assertEquals(await motd("play.example", "bedrock"), undefined);
  const query = statusQueryOf(parseStatusAddress("10.0.0.1")!, "java");
  assertEquals((await readStatus(db, query))?.icon, Uint8Array.fromBase64(ICON));
});

onEngines("an address opted out, whether the database has a server there or not", async (db) => {
  await db.run("insert into opt_outs (address, noted_at) values ('10.9.9.9', ?)", [
    db.engine === "postgres" ? "2026-01-01" : 1,
  ]);
  await db.run("insert into opt_outs (address, noted_at) values ('2001:db8::9', ?)", [
    db.engine === "postgres" ? "2026-01-01" : 1,
  ]);
  const all = ["10.9.9.9", "2001:db8::9", "10.9.9.8"].map((address) => isOptedOut(db, address));
  assertEquals(await Promise.all(all), [true, true, false]);
});
