/**
 * The documents of the status API, field by field as the documents of mcsrvstat.us and mcstatus.io have
 * them. Covers src/web/status/mcsrvstat.ts, src/web/status/mcstatus.ts, src/web/status/server_facts.ts and
 * src/web/status/status_schemas.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import { fakeData, listedServer, NOW } from "../fake_data.ts";
import { clientOf } from "../http/client.ts";
import { schemaFaults } from "../json_schema.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const ICON = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
const ICON_URL = "data:image/png;base64,iVBORw==";
/** When the server was probed: 10.5 seconds ago. */
const PROBED = NOW - 10_500;
const SECONDS = Math.floor(PROBED / 1000);

/** A Java server with Query and a name. */
const JAVA: Partial<ListedServer> = {
  edition: "java",
  protocols: ["slp", "query"],
  motd: "§aHello\n  §lworld",
  version: "1.21.1",
  protocol_version: 767,
  software: "Paper",
  map: "§cworld",
  players_online: 2,
  players_max: 20,
  players: ["Ann", "Bob"],
  plugins: [{ name: "WorldEdit", version: "7.3" }, { name: "Vault", version: null }],
  extras: {
    slp: { form: "status", version_name: "Paper 1.21.1", mods: { create: "6.0", jei: "" } },
    query: { form: "full" },
  },
  requested_as: "play.example.org",
  probed_at: PROBED,
};

const BEDROCK: Partial<ListedServer> = {
  edition: "bedrock",
  protocols: ["raknet"],
  motd: "§7Dedicated Server",
  version: "1.21.50",
  protocol_version: 766,
  players_online: 1,
  players_max: 10,
  map: "Bedrock level",
  gamemode: "Survival",
  guid: "1",
  extras: { raknet: { server_id: "13253860892328930865", level: "" } },
  probed_at: PROBED,
};

/** Requests a document about a server. */
async function documentOf(
  path: string,
  server: Partial<ListedServer> | undefined,
  { hasNames = false, icon = null }: { hasNames?: boolean; icon?: Uint8Array | null } = {},
): Promise<Json> {
  const found = server === undefined ? undefined : { server: listedServer(1, server), icon };
  const get = clientOf({
    statusApi: { hasNames },
    data: fakeData({ status: () => Promise.resolve(found) }),
  });
  const { status, headers, text } = await get(`GET ${path}`);
  assertEquals([status, headers["content-type"]], [200, "application/json"], text);
  const document = JSON.parse(text);
  await assertDescribed(path, document);
  return document;
}

/** Checks a document by the schema that the description of the API has for its route. */
async function assertDescribed(path: string, value: unknown): Promise<void> {
  const { text } = await clientOf({ statusApi: { hasNames: false } })("GET /api/openapi.json");
  const description = JSON.parse(text);
  const route = `${path.slice(0, path.lastIndexOf("/"))}/{address}`;
  const { content } = description.paths[route].get.responses[200];
  assertEquals(schemaFaults(value, content["application/json"].schema, description), [], path);
}

const debug = (more: Json = {}) => ({
  ping: true,
  query: true,
  bedrock: false,
  srv: false,
  querymismatch: false,
  ipinsrv: false,
  cnameinsrv: false,
  animatedmotd: false,
  cachehit: true,
  cachetime: SECONDS,
  cacheexpire: SECONDS + 60,
  apiversion: 3,
  ...more,
});

const OFFLINE = { ping: false, query: false };
const MOTD = {
  raw: ["§aHello", "  §lworld"],
  clean: ["Hello", "  world"],
  html: [
    '<span style="color: #55FF55">Hello</span>',
    '  <span style="font-weight: bold;">world</span>',
  ],
};

Deno.test("mcsrvstat.us v3: a Java server", async () => {
  assertEquals(await documentOf("/3/play.example.org", JAVA, { icon: ICON }), {
    online: true,
    ip: "10.0.0.1",
    port: 25565,
    hostname: "play.example.org",
    debug: debug(),
    version: "Paper 1.21.1",
    protocol: { version: 767, name: "1.21.1" },
    icon: ICON_URL,
    software: "Paper",
    map: {
      raw: "§cworld",
      clean: "world",
      html: '<span style="color: #FF5555">world</span>',
    },
    eula_blocked: false,
    motd: MOTD,
    players: { online: 2, max: 20 },
    plugins: [{ name: "WorldEdit", version: "7.3" }, { name: "Vault", version: "" }],
    mods: [{ name: "create", version: "6.0" }, { name: "jei", version: "" }],
  });
});

Deno.test("mcsrvstat.us v2: names of plugins and mods apart, the protocol a number, the map a text", async () => {
  const document = await documentOf("/2/play.example.org", JAVA, { hasNames: true });
  assertEquals(document.debug, debug({ apiversion: 2 }));
  assertEquals(document.protocol, 767);
  assertEquals(document.map, "§cworld");
  assertEquals(document.motd, MOTD);
  assertEquals(document.players, { online: 2, max: 20, list: ["Ann", "Bob"] });
  assertEquals(document.plugins, {
    names: ["WorldEdit", "Vault"],
    raw: ["WorldEdit 7.3", "Vault"],
  });
  assertEquals(document.mods, { names: ["create", "jei"], raw: ["create 6.0", "jei"] });
});

Deno.test("mcsrvstat.us v3: a Bedrock server has game mode and id, no word of the EULA", async () => {
  assertEquals(await documentOf("/bedrock/3/10.0.0.1:19132", { ...BEDROCK, port: 19132 }), {
    online: true,
    ip: "10.0.0.1",
    port: 19132,
    debug: debug({ query: false, bedrock: true }),
    version: "1.21.50",
    protocol: { version: 766, name: "1.21.50" },
    map: { raw: "Bedrock level", clean: "Bedrock level", html: "Bedrock level" },
    gamemode: "Survival",
    serverid: "13253860892328930865",
    motd: {
      raw: ["§7Dedicated Server"],
      clean: ["Dedicated Server"],
      html: ['<span style="color: #C6C6C6">Dedicated Server</span>'],
    },
    players: { online: 1, max: 10 },
  });
  assertEquals((await documentOf("/bedrock/2/10.0.0.1", BEDROCK)).protocol, 766);
});

Deno.test("mcsrvstat.us v3: a server that is offline, unknown, or whose name is unknown", async () => {
  assertEquals(
    await documentOf("/3/play.example.org", { ...JAVA, online: false }, { icon: ICON }),
    {
      online: false,
      ip: "10.0.0.1",
      port: 25565,
      hostname: "play.example.org",
      debug: debug({
        ...OFFLINE,
        error: { ping: "The server has not replied with a status." },
      }),
    },
  );
  const unknown = debug({ ...OFFLINE, cachehit: false, cachetime: NOW / 1000 });
  unknown.cacheexpire = NOW / 1000 + 60;
  assertEquals(await documentOf("/3/192.0.2.1:25566", undefined), {
    online: false,
    ip: "192.0.2.1",
    port: 25566,
    debug: { ...unknown, error: { ping: "The server is not in the database." } },
  });
  const noName = { ...unknown, error: { ip: "DNS lookup failed, no IP detected." } };
  assertEquals(await documentOf("/3/absent.example", undefined), {
    online: false,
    ip: "127.0.0.1",
    port: 25565,
    hostname: "absent.example",
    debug: noName,
  });
  assertEquals(await documentOf("/3/a..b", undefined), {
    online: false,
    ip: "127.0.0.1",
    port: 25565,
    debug: noName,
  });
});

Deno.test("after an SRV record, one service has the record's target and port, the other the requested ones", async () => {
  const srv = { ...JAVA, port: 25570, requested_as: "example.org SRV mc1.example.org:25570" };
  const document = await documentOf("/3/Example.org", srv);
  assertEquals([document.hostname, document.port, document.debug.srv], [
    "mc1.example.org",
    25570,
    true,
  ]);
  const { host, port, ip_address, srv_record } = await documentOf(
    "/v2/status/java/Example.org",
    srv,
  );
  assertEquals([host, port, ip_address], ["example.org", 25565, "10.0.0.1"]);
  assertEquals(srv_record, { host: "mc1.example.org", port: 25570 });
});

const names = (raw: string, clean: string, html: string) => ({
  name_raw: raw,
  name_clean: clean,
  name_html: html,
});

Deno.test("mcstatus.io v2: a Java server", async () => {
  assertEquals(
    await documentOf("/v2/status/java/Play.Example.org?query=true", JAVA, { icon: ICON }),
    {
      online: true,
      host: "play.example.org",
      port: 25565,
      ip_address: "10.0.0.1",
      eula_blocked: false,
      retrieved_at: PROBED,
      expires_at: PROBED + 60_000,
      srv_record: null,
      version: {
        ...names("Paper 1.21.1", "Paper 1.21.1", "<span><span>Paper 1.21.1</span></span>"),
        protocol: 767,
      },
      players: { online: 2, max: 20, list: [] },
      motd: {
        raw: "§aHello\n  §lworld",
        clean: "Hello\n  world",
        html: '<span><span style="color: #55ff55;">Hello</span>\n' +
          '<span>  </span><span style="font-weight: bold;">world</span></span>',
      },
      icon: ICON_URL,
      mods: [{ name: "create", version: "6.0" }, { name: "jei", version: "" }],
      plugins: [{ name: "WorldEdit", version: "7.3" }, { name: "Vault", version: null }],
      software: "Paper",
    },
  );
});

Deno.test("mcstatus.io v2: what is unknown is null or an empty list, and offline it is absent", async () => {
  const bare: Partial<ListedServer> = {
    ...{ edition: "java", protocols: ["slp"], motd: "Hi", players_online: null, probed_at: PROBED },
  };
  assertEquals(await documentOf("/v2/status/java/10.0.0.1", bare), {
    online: true,
    host: "10.0.0.1",
    port: 25565,
    ip_address: "10.0.0.1",
    eula_blocked: false,
    retrieved_at: PROBED,
    expires_at: PROBED + 60_000,
    srv_record: null,
    version: null,
    players: { online: null, max: null, list: [] },
    motd: { raw: "Hi", clean: "Hi", html: "<span><span>Hi</span></span>" },
    icon: null,
    mods: [],
    plugins: [],
    software: null,
  });
  const unknown = { eula_blocked: false, retrieved_at: NOW, expires_at: NOW + 60_000 };
  assertEquals(await documentOf("/v2/status/java/absent.example:25566", undefined), {
    online: false,
    host: "absent.example",
    port: 25566,
    ip_address: null,
    ...unknown,
    srv_record: null,
  });
  assertEquals(await documentOf("/v2/status/bedrock/192.0.2.7", undefined), {
    online: false,
    host: "192.0.2.7",
    port: 19132,
    ip_address: "192.0.2.7",
    ...unknown,
  });
});

Deno.test("mcstatus.io v2: Bedrock servers", async () => {
  assertEquals(await documentOf("/v2/status/bedrock/10.0.0.1", BEDROCK), {
    online: true,
    host: "10.0.0.1",
    port: 19132,
    ip_address: "10.0.0.1",
    eula_blocked: false,
    retrieved_at: PROBED,
    expires_at: PROBED + 60_000,
    version: { name: "1.21.50", protocol: 766 },
    players: { online: 1, max: 10 },
    motd: {
      raw: "§7Dedicated Server",
      clean: "Dedicated Server",
      html: '<span><span style="color: #c6c6c6;">Dedicated Server</span></span>',
    },
    gamemode: "Survival",
    server_id: "13253860892328930865",
    edition: "MCPE",
  });
  const school = await documentOf("/v2/status/bedrock/10.0.0.1", {
    ...{ edition: "education", motd: "Class", players_online: null },
  });
  const { edition, version, players, gamemode, server_id } = school;
  assertEquals([edition, version, players, gamemode, server_id], ["MCEE", null, null, null, null]);
});

Deno.test("names of players are shown only if that is wanted; lines of text in their place are info", async () => {
  const named = { hasNames: true };
  const sample = (name: string) => ({ uuid: "", ...names(name, name, span(name)) });
  const span = (text: string) => `<span><span>${text}</span></span>`;
  const v3 = await documentOf("/3/10.0.0.1", JAVA, named);
  assertEquals(v3.players.list, [{ name: "Ann", uuid: "" }, { name: "Bob", uuid: "" }]);
  const v2 = await documentOf("/v2/status/java/10.0.0.1", JAVA, named);
  assertEquals(v2.players.list, [sample("Ann"), sample("Bob")]);
  const lines = { ...JAVA, players: ["§cJoin us", "today"] };
  const info = await documentOf("/3/10.0.0.1", lines, named);
  assertEquals(info.players, { online: 2, max: 20 });
  assertEquals(info.info, {
    raw: ["§cJoin us", "today"],
    clean: ["Join us", "today"],
    html: ['<span style="color: #FF5555">Join us</span>', "today"],
  });
  for (const path of ["/3/10.0.0.1", "/2/10.0.0.1", "/v2/status/java/10.0.0.1"]) {
    for (const server of [JAVA, lines]) {
      const text = JSON.stringify(await documentOf(path, server));
      assert(!/Ann|Bob|Join|today/.test(text), text);
    }
  }
});

Deno.test("IPv6 addresses are without brackets and zones; a refusal is no status", async () => {
  const v6 = { ...JAVA, host: "fe80::1%eth0", requested_as: null };
  assertEquals((await documentOf("/3/[fe80::1]:25566", v6)).ip, "fe80::1");
  const { host, ip_address, port } = await documentOf("/v2/status/java/2001:DB8::1:25566", v6);
  assertEquals([host, port, ip_address], ["2001:db8::1", 25566, "fe80::1"]);
  const kick: Partial<ListedServer> = {
    ...{ edition: "java", protocols: ["slp"], players_online: null, flags: ["disconnected"] },
    extras: { slp: { form: "disconnect", reason: "You are not whitelisted" } },
  };
  const refused = await documentOf("/3/10.0.0.1", kick);
  assertEquals([refused.online, refused.debug.ping, "motd" in refused], [false, false, false]);
});

Deno.test("versions of which only the number is known have its name; Query alone has no number", async () => {
  const number = { ...JAVA, version: null, extras: null, protocol_version: 47 };
  assertEquals((await documentOf("/3/10.0.0.1", number)).version, "1.8 to 1.8.9");
  assertEquals((await documentOf("/3/10.0.0.1", number)).protocol, { version: 47, name: "1.8.9" });
  const unknown = await documentOf("/3/10.0.0.1", { ...number, protocol_version: 99_999 });
  assertEquals([unknown.protocol, "version" in unknown], [{ version: 99_999 }, false]);
  const query = { ...JAVA, protocols: ["query"], protocol_version: null, extras: null };
  const document = await documentOf("/3/10.0.0.1", query);
  assertEquals([document.debug.ping, document.debug.query], [false, true]);
  assertEquals([document.version, "protocol" in document], ["1.21.1", false]);
});

Deno.test("a port with servers of both editions has the version of the requested one", async () => {
  const both = { ...BEDROCK, extras: { slp: { version_name: "Paper 1.21.1" } } };
  const java = await documentOf("/v2/status/java/10.0.0.1", both);
  assertEquals([java.version.name_clean, java.version.protocol], ["Paper 1.21.1", null]);
  const bedrock = await documentOf("/v2/status/bedrock/10.0.0.1", both);
  assertEquals(bedrock.version, { name: "1.21.50", protocol: 766 });
});

/** The fields of each service's document that are always there for a server that is online. */
const ALWAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "/3/10.0.0.1": {
    online: "boolean",
    ip: "string",
    port: "number",
    "debug.ping": "boolean",
    "debug.query": "boolean",
    "debug.bedrock": "boolean",
    "debug.srv": "boolean",
    "debug.querymismatch": "boolean",
    "debug.ipinsrv": "boolean",
    "debug.cnameinsrv": "boolean",
    "debug.animatedmotd": "boolean",
    "debug.cachehit": "boolean",
    "debug.cachetime": "number",
    "debug.cacheexpire": "number",
    "debug.apiversion": "number",
    eula_blocked: "boolean",
    "motd.raw": "list",
    "motd.clean": "list",
    "motd.html": "list",
    "players.online": "number",
    "players.max": "number",
  },
  "/v2/status/java/10.0.0.1": {
    online: "boolean",
    host: "string",
    port: "number",
    ip_address: "string",
    eula_blocked: "boolean",
    retrieved_at: "number",
    expires_at: "number",
    srv_record: "null",
    version: "object or null",
    "players.online": "number or null",
    "players.max": "number or null",
    "players.list": "list",
    "motd.raw": "string",
    "motd.clean": "string",
    "motd.html": "string",
    icon: "string or null",
    mods: "list",
    plugins: "list",
    software: "string or null",
  },
  "/v2/status/bedrock/10.0.0.1": {
    online: "boolean",
    host: "string",
    port: "number",
    ip_address: "string",
    version: "object or null",
    players: "object or null",
    motd: "object or null",
    gamemode: "string or null",
    server_id: "string or null",
    edition: "string or null",
  },
};

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
}

/** Columns that any server may lack. */
const NULLABLE = [
  ...["version", "protocol_version", "software", "map", "players_online", "players_max"] as const,
  ...["players", "plugins", "extras", "gamemode", "guid", "edition", "requested_as"] as const,
] satisfies readonly (keyof ServerRecord)[];

Deno.test("each field of the services is there with its type, whichever columns a server lacks", async () => {
  for (const [path, fields] of Object.entries(ALWAYS)) {
    const whole = path.includes("bedrock") ? BEDROCK : JAVA;
    for (const lacking of [[], NULLABLE, ...NULLABLE.map((name) => [name])]) {
      const nulls = Object.fromEntries(lacking.map((name) => [name, null]));
      const requested = { requested_as: null };
      const document = await documentOf(path, { ...whole, ...requested, ...nulls });
      for (const [field, types] of Object.entries(fields)) {
        const value = field.split(".").reduce((at, name) => at?.[name], document);
        const found = typeOf(value);
        assert(
          types.split(" or ").includes(found),
          `${path} ${field}: ${found}, without ${lacking}`,
        );
      }
    }
  }
});
