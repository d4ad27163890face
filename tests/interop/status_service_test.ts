/**
 * Clients of mcstatus.io and mcsrvstat.us, unchanged but for the base URL, read servers of a database from
 * `serve --status-api`.
 */
import { createRequire } from "node:module";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ServerRecord } from "../../src/core/record.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { badgeImage } from "../../src/web/status/badge_images.tsx";
import { freePort } from "../fakes/free_port.ts";
import { record } from "../store/records.ts";
import { blocksweep, Peer } from "./processes.ts";

const java: Partial<ServerRecord> = {
  ...{ protocol: "slp", protocols: ["slp"], edition: "java", motd: "§aHello\nworld" },
  ...{ version: "1.21.1", protocol_version: 767, players_online: 3, players_max: 20 },
  extras: { slp: { form: "status", version_name: "Paper 1.21.1" } },
};

const RECORDS: readonly ServerRecord[] = [
  record(25565, { ...java, host: "10.0.0.1", requested_as: "play.example.org" }),
  record(25570, { ...java, host: "10.0.0.2", requested_as: "srv.example SRV mc.example:25570" }),
  record(25566, { ...java, host: "2001:db8::1" }),
  record(19132, {
    ...{ host: "10.0.0.1", edition: "bedrock", motd: "Bedrock", version: "1.21.50" },
    ...{ protocol_version: 766, players_online: 1, players_max: 10, gamemode: "Survival" },
    requested_as: "play.example.org",
  }),
];

/** Runs a test with the URL of a status service. */
async function withService(test: (url: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/servers.db`;
    {
      await using database = openSqlite(file);
      await createTables(database);
      await new Store(database, () => Promise.resolve()).write(RECORDS);
    }
    const port = String(freePort());
    const program = blocksweep("serve", file, "--port", port, "--status-api", "database");
    await using _peer = await Peer.start(program, /Ctrl-C/);
    await test(`http://127.0.0.1:${port}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

// deno-lint-ignore no-explicit-any
type Answer = any;

/** The functions of node-mcstatus. */
interface Mcstatus {
  statusJava(host: string, port?: number, options?: { baseURL: string }): Promise<Answer>;
  statusBedrock(host: string, port?: number, options?: { baseURL: string }): Promise<Answer>;
}

const MCSTATUS: string = "node-mcstatus"; // no literal: see clients.ts

Deno.test("node-mcstatus reads Java and Bedrock servers, by name, SRV record and bare IPv6 address", async () => {
  const { statusJava, statusBedrock }: Mcstatus = await import(MCSTATUS);
  await withService(async (url) => {
    const options = { baseURL: `${url}/v2` };
    const one = await statusJava("play.example.org", 25565, options);
    assertEquals([one.online, one.host, one.port], [true, "play.example.org", 25565]);
    assertEquals([one.version.name_clean, one.version.protocol], ["Paper 1.21.1", 767]);
    assertEquals([one.players.online, one.players.max, one.players.list], [3, 20, []]);
    assertEquals(one.motd.clean, "Hello\nworld");
    const srv = await statusJava("srv.example", 25565, options);
    assertEquals([srv.online, srv.port, srv.srv_record.port], [true, 25565, 25570]);
    const v6 = await statusJava("2001:db8::1", 25566, options);
    assertEquals([v6.online, v6.host, v6.port], [true, "2001:db8::1", 25566]);
    const absent = await statusJava("absent.example", 25565, options);
    assertEquals([absent.online, "players" in absent], [false, false]);
    const bedrock = await statusBedrock("play.example.org", 19132, options);
    assertEquals([bedrock.version.name, bedrock.gamemode, bedrock.edition], [
      "1.21.50",
      "Survival",
      "MCPE",
    ]);
    await assertRejects(() => statusJava("a..b", 25565, options), Error, "Bad Request");
  });
});

/** The content of the title of an SVG image, as it is written. */
function titleIn(svg: string): string {
  return /<title>([^<]*)<\/title>/.exec(svg)?.[1] ?? "";
}

/** A text without the five entities of XML. */
function decoded(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'" };
  return text.replace(/&(lt|gt|quot|apos|#39);/g, (_, name) => entities[name])
    .replaceAll("&amp;", "&");
}

const BADGE_MAKER: string = "badge-maker";

Deno.test("badges escape texts as badge-maker does", async () => {
  const { makeBadge }: { makeBadge(format: { label: string; message: string }): string } =
    await import(BADGE_MAKER);
  for (const label of [`<script>alert("1")</script>`, "a & b &amp; c", "it's", "]]>", "plain"]) {
    const facts = { label, message: "3/20", state: "online", lastReply: undefined } as const;
    const [ours, theirs] = [badgeImage(facts, "light"), makeBadge({ label, message: "3/20" })]
      .map(titleIn);
    assertEquals(decoded(ours), decoded(theirs));
    assertEquals(decoded(ours), `${label}: 3/20`);
    assertEquals(/[<>"']|&(?!\w+;|#39;)/.test(ours), false);
  }
});

/** mcsrvstat-wrapper with another base URL: its values are members of the module. */
async function wrapperOf(url: string): Promise<Answer> {
  const path = new URL(import.meta.resolve("mcsrvstat-wrapper"));
  const require = createRequire(path);
  const installed = require.resolve("mcsrvstat-wrapper");
  const text = await Deno.readTextFile(installed);
  assert(text.includes("https://api.mcsrvstat.us"));
  const module = { exports: {} };
  const source = text.replaceAll("https://api.mcsrvstat.us", url);
  new Function("module", "exports", "require", source)(
    module,
    module.exports,
    createRequire(installed),
  );
  return module.exports;
}

Deno.test("mcsrvstat-wrapper reads Java and Bedrock servers", async () => {
  await withService(async (url) => {
    const wrapper = await wrapperOf(url);
    // The functions set members of the module that they are in.
    await wrapper.fetchJavaServer("play.example.org");
    assertEquals([wrapper.status, wrapper.oPlayers, wrapper.maxPlayers], [true, 3, 20]);
    assertEquals([wrapper.servip, wrapper.version, wrapper.hostname], [
      "10.0.0.1",
      "Paper 1.21.1",
      "play.example.org",
    ]);
    await wrapper.fetchBedrockServer("10.0.0.1");
    assertEquals([wrapper.status, wrapper.oPlayers, wrapper.version], [true, 1, "1.21.50"]);
    await wrapper.httpCodeJava("play.example.org");
    assertEquals(wrapper.httpCode, "");
    await wrapper.fetchIcon("play.example.org");
    const icon = await fetch(wrapper.servIconUrl);
    assertEquals([icon.status, icon.headers.get("content-type")], [200, "image/png"]);
    await icon.body?.cancel();
  });
});
