/** A query and a scan of a server of flying-squid. */
import { assertEquals } from "@std/assert";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { blocksweep, javaScript, Peer, run, scan } from "../processes.ts";
import { comparable } from "../rows.ts";

const HOST = "127.77.3.9";
const PORT = 25565;
const OPTIONS = { host: HOST, port: PORT, version: "1.21.4", "max-players": 17 };
const MOTD = "§6fly§ling squid ✓ 你好";

const ROW = {
  ...{ host: HOST, port: PORT, protocol: "slp", protocols: ["slp"], edition: "java" },
  ...{ name: "flying squid ✓ 你好", motd: MOTD, motd_plain: "flying squid ✓ 你好" },
  ...{ version: "1.21.4", protocol_version: 769, players_online: 0, players_max: 17, players: [] },
  flags: [],
  extras: {
    slp: {
      ...{ form: "status", version_name: "1.21.4", motd_form: "object", sample_size: 0 },
      keys: ["version", "players", "description"],
      version_keys: ["name", "protocol"],
      players_keys: ["max", "online", "sample"],
    },
  },
};

Deno.test("query and scan: flying-squid gives one row, as configured, and keeps running", async () => {
  const program = javaScript("flying_squid.ts", JSON.stringify({ ...OPTIONS, motd: MOTD }));
  await using _server = await Peer.start(program, /^ready$/m);
  const queried = await run(blocksweep("query", `${HOST}:${PORT}`, "--json"));
  const scanned = await scan("127.77.3.8/29");
  for (const rows of [readNdjson(queried), scanned.rows]) {
    assertEquals(rows.length, 1);
    const { software: _, software_confidence: __, ...row } = comparable(rows[0]);
    assertEquals<unknown>(row, ROW);
  }
});
