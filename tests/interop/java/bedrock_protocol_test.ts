/** A scan of servers of bedrock-protocol, which escapes nothing in its advertisement. */
import { assertEquals } from "@std/assert";
import { javaScript, Peer, scan } from "../processes.ts";
import { comparable } from "../rows.ts";

const PORT = "19132";

/** Advertisements with a `;` in the level, or in the level and the MOTD. */
const CASES = [
  { host: "127.77.3.1", motd: "Plain", levelName: "plain", flags: [] },
  { host: "127.77.3.2", motd: "Plain", levelName: "a;b", flags: ["levelSemicolon"] },
  {
    ...{ host: "127.77.3.3", motd: "§aIn;ter§lop; ✓", levelName: ";c; d;1;2;" },
    flags: ["levelSemicolon", "motdSemicolon"],
  },
];

/** The expected row if no field had to be omitted. Another test checks the software. */
function rowOf({ host, motd, levelName }: typeof CASES[number], id: string) {
  const guid = BigInt.asUintN(64, BigInt(id)).toString(); // it writes its id as a signed number
  return {
    ...{ host, port: Number(PORT), protocol: "raknet", protocols: ["raknet"], edition: "bedrock" },
    ...{ motd, name: motd.replace(/§./g, ""), motd_plain: motd.replace(/§./g, "") },
    ...{ version: "1.21.50", protocol_version: 766, players_online: 0, players_max: 42, guid },
    ...{ map: levelName, gamemode: "Creative", port_v4: Number(PORT), port_v6: Number(PORT) },
  };
}

Deno.test("scan: bedrock-protocol with `;` in level and MOTD gives no wrong column", async () => {
  await using servers = new AsyncDisposableStack();
  const ids = await Promise.all(CASES.map(async ({ host, motd, levelName }) => {
    const fields = JSON.stringify({ motd, levelName });
    const program = javaScript("bedrock_protocol.ts", host, PORT, fields);
    const server = servers.use(await Peer.start(program, /^ready .*\n/m));
    return /^ready (.*)$/m.exec(server.greeting)![1];
  }));
  for (let time = 0; time < 2; time++) {
    const { rows } = await scan("127.77.3.0/29", "-p", PORT);
    assertEquals(rows.length, CASES.length);
    for (const [i, one] of CASES.entries()) {
      const { flags, extras, software: _, software_confidence: __, ...row } = comparable(
        rows.find(({ host }) => host === one.host)!,
      );
      assertEquals<unknown>(row, rowOf(one, ids[i]), one.host);
      assertEquals([flags, extras!.raknet.server_id], [one.flags, ids[i]], one.host);
    }
  }
});
