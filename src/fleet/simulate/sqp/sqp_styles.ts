/**
 * The SQP behaviour of each software, and what a correct scanner reads. Expected values are written by
 * hand, not produced by a decoder.
 *
 * @module
 */
import type { Chunks } from "../../../protocols/sqp/mod.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { SimulatedIdentity } from "../server_identity.ts";
import type { SqpStyle } from "./sqp_server.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** The port that players join, which differs from the SQP port. */
const GAME_PORT = 7777;
/** The lowest Steam ID of a user. Steam IDs are not exact as a double. */
const FIRST_ID = 76_561_197_960_265_729n;

/** The ServerInfo chunk. go-svrquery's sample server has an empty build id. */
function info(id: SimulatedIdentity, buildId: string): Chunks["info"] {
  return {
    online: id.online,
    max: id.max,
    name: utf8(id.motd.text),
    gameType: utf8(id.gamemode),
    buildId: utf8(buildId),
    map: utf8(id.level),
    port: GAME_PORT,
  };
}

/** All chunks, with values of all types. */
function everything(id: SimulatedIdentity): Chunks {
  return {
    info: info(id, id.version),
    rules: [
      { name: utf8("pvp"), type: "u8", value: 1 },
      { name: utf8("tick"), type: "u16", value: 64 },
      { name: utf8("protocol"), type: "u32", value: id.protocol },
      { name: utf8("seed"), type: "u64", value: id.guid },
      { name: utf8("__proto__"), type: "string", value: utf8(id.motd.plain) },
      { name: utf8("rate"), type: "f32", value: 0.1 },
    ],
    players: {
      fields: [
        { name: utf8("name"), type: "string" },
        { name: utf8("score"), type: "u32" },
        { name: utf8("id"), type: "u64" },
      ],
      rows: id.players.map((name, i) => [utf8(name), 10 * i, FIRST_ID + BigInt(i)]),
    },
    teams: {
      fields: [{ name: utf8("team"), type: "string" }, { name: utf8("score"), type: "u16" }],
      rows: [[utf8("red"), 3], [utf8("blue"), 65_535]],
    },
    metrics: [60, 0.5],
  };
}

/** Columns that a correct scanner reads from ServerInfo. */
function columns(id: SimulatedIdentity, version: string | null): Statement["columns"] {
  return {
    name: id.motd.plain,
    motd: id.motd.text,
    motd_plain: id.motd.plain,
    version,
    map: id.level,
    gamemode: id.gamemode,
    players_online: id.online,
    players_max: id.max,
    port_v4: GAME_PORT,
  };
}

/** What a correct scanner reads from all chunks. */
function statementOfAll(id: SimulatedIdentity): Statement {
  return {
    columns: { ...columns(id, id.version), players: id.players },
    flags: [],
    facts: {
      version: 1,
      chunks: ["info", "rules", "players", "teams", "metrics"],
      rules: {
        pvp: "1",
        tick: "64",
        protocol: String(id.protocol),
        seed: id.guid.toString(),
        ["__proto__"]: id.motd.plain,
        rate: "0.1",
      },
      players: id.players.map((name, i) => ({
        name,
        score: String(10 * i),
        id: (FIRST_ID + BigInt(i)).toString(),
      })),
      teams: [{ team: "red", score: "3" }, { team: "blue", score: "65535" }],
      metrics: ["60", "0.5"],
    },
  };
}

/** A server that has only ServerInfo, and does not reply to queries for other chunks. */
function infoOnly(rest: Pick<SqpStyle, "version" | "later" | "oneChallenge">): SqpStyle {
  return {
    chunks: (id) => ({ info: info(id, id.version) }),
    lacking: "none",
    ...rest,
    truth: (id) => ({
      columns: columns(id, id.version),
      flags: [],
      facts: { version: rest.version ?? 1, chunks: ["info"] },
    }),
  };
}

export const SQP_STYLES = {
  /** go-svrquery's sample server: ServerInfo, and an empty ServerInfo for other chunks. */
  sqpSample: {
    chunks: (id) => ({ info: info(id, "") }),
    lacking: "empty",
    truth: (id) => ({
      columns: columns(id, null),
      flags: [],
      facts: { version: 1, chunks: ["info"] },
    }),
  },
  /** A server with all chunks. */
  sqpFull: { chunks: everything, lacking: "none", truth: statementOfAll },
  /** A server of Multiplay, which has only ServerInfo. */
  sqpInfo: infoOnly({}),
  /** FPSSample's SQPServer: version 0, and one challenge at a time. */
  sqpUnity: infoOnly({ version: 0, oneChallenge: true }),
  /** A server of a future SQP version, whose ServerInfo has more fields. */
  sqpLater: infoOnly({ version: 7, later: Uint8Array.of(1, 2, 3, 255) }),
  /** A server that replies in several packets. */
  sqpPackets: { chunks: everything, lacking: "none", packetSize: 40, truth: statementOfAll },
} satisfies Record<string, SqpStyle>;
