/**
 * Converts a status over HTTP into columns, flags and facts of the record.
 *
 * @module
 */
import type { Facts, ServerRecord } from "../../core/record.ts";
import { cutText } from "../../core/text.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import { headerOf, type HttpReply } from "./http_reply.ts";
import type { GameStatus } from "./status_json.ts";

/** A server's reply over HTTP. */
export interface NethernetStatus {
  /** The reply: its status is from 200 to 299. */
  readonly reply: HttpReply;
  /** The status; `undefined`: the reply contains none. */
  readonly game: GameStatus | undefined;
  readonly port: number;
  /** SHA-256 of the certificate in DER, hexadecimal; `null`: the connection was not encrypted. */
  readonly certificate: string | null;
}

/** The columns that a statement may fill. */
export const NETHERNET_COLUMNS = [
  "name",
  "motd",
  "motd_plain",
  "edition",
  "version",
  "protocol_version",
  "map",
  "gamemode",
  "players_online",
  "players_max",
] as const satisfies (keyof ServerRecord)[];

/** Maximum number of headers whose names are in a row. */
const MAX_HEADERS = 24;
/** Maximum number of UTF-16 units of a header in a row. */
const MAX_HEADER = 64;

export function nethernetStatement(status: NethernetStatus): Statement {
  const { reply, game } = status;
  const facts = httpFacts(status);
  if (game === undefined) {
    const flag = isHidden(status) ? "hidesStatus" : "emptyReply";
    return { columns: { edition: "bedrock" }, flags: [...reply.flags, flag], facts };
  }
  return {
    columns: {
      edition: "bedrock",
      ...nameColumns(game.name),
      version: game.version,
      protocol_version: game.protocol,
      map: game.level,
      gamemode: game.gamemode === null ? null : gamemodeName(game.gamemode),
      players_online: game.online,
      players_max: game.max,
    },
    flags: [...new Set([...game.flags, ...reply.flags])],
    facts: { ...facts, keys: game.keys, ...game.facts },
  };
}

const GAMEMODES: Readonly<Record<number, string>> = {
  0: "Survival",
  1: "Creative",
  2: "Adventure",
  5: "Default",
  6: "Spectator",
};

/** The name of a game mode, as pongs contain it; of an unknown one, its number. */
export function gamemodeName(gamemode: number): string {
  return GAMEMODES[gamemode] ?? String(gamemode);
}

/** Facts about the reply and its connection, by which software can be told apart. */
function httpFacts({ reply, certificate }: NethernetStatus): Facts {
  const server = headerOf(reply, "server");
  return {
    tls: certificate !== null,
    ...(certificate !== null && { certificate_sha256: certificate }),
    headers: reply.headers.slice(0, MAX_HEADERS).map(({ name }) => cut(name)),
    ...(server && { server: cut(server) }),
  };
}

function cut(text: string): string {
  return cutText(text, MAX_HEADER);
}

/** The headers of Bedrock Dedicated Server with `enable-lan-visibility=false`, in order. */
const HIDDEN_HEADERS = "Content-Type: application/json\nContent-Length: 0\nConnection: close";

/** Whether a reply is that of a Bedrock Dedicated Server that hides its status. */
function isHidden({ reply, certificate }: NethernetStatus): boolean {
  const { status, version, reason, headers, body } = reply;
  return certificate === null && status === 200 && version === 1 && reason === "OK" &&
    body.length === 0 &&
    headers.map(({ name, value }) => `${name}: ${value}`).join("\n") === HIDDEN_HEADERS;
}

/** The usual port. On other ports, an empty reply is that of any web server. */
export const NETHERNET_PORT = 19132;

/**
 * Whether a status is too little evidence of a server: it is empty, and not that of a Bedrock
 * Dedicated Server that hides its status, on the usual port or at a known server.
 */
export function isWeakStatus(status: NethernetStatus, isKnown = false): boolean {
  const isUsual = isKnown || status.port === NETHERNET_PORT;
  return status.game === undefined && !(isUsual && isHidden(status));
}
