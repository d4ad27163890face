/**
 * The Query protocol: a handshake finds the server, a stat request returns its whole status.
 *
 * @module
 */
import { hexOf } from "../../core/bytes.ts";
import type { GeneralFlag } from "../../core/flags.ts";
import { cutText, decodeField } from "../../core/text.ts";
import type { Facts, ServerRecord } from "../../core/record.ts";
import { itemsWithinLimit } from "../fact_limits.ts";
import { nameColumns } from "../name_columns.ts";
import type { Exchange, ExchangeContext, Protocol, Statement } from "../protocol.ts";
import { NoReply, request } from "../protocol.ts";
import {
  type Challenge,
  type ChallengeFlag,
  decodeQueryChallenge,
  encodeHandshake,
  encodeStatRequest,
  PADDING,
  readHeader,
} from "./codec.ts";
import { parsePlugins } from "./plugins.ts";
import { type BasicStat, decodeStat, type FullStat, type Stat, type StatFlag } from "./stat.ts";

export * from "./codec.ts";
export * from "./plugins.ts";
export * from "./stat.ts";

/** A server's status: its stat, and the token that requested it. */
export interface QueryStatus {
  /** The stat; `undefined` when the server replies to handshakes but sends no stat. */
  readonly stat: Stat | undefined;
  /** The token of the last stat request. */
  readonly challenge: Challenge;
  /** Whether a basic stat arrived but no full one. */
  readonly fullLost: boolean;
}

/**
 * The bits of a session that every server repeats: seven of each byte, because each byte must be
 * below 0x80.
 */
export const SESSION_MASK = 0x0f0f0f0f;

/** How long a token may be used again, milliseconds. Vanilla changes its tokens every 30 s. */
const TOKEN_MS = 25_000;

/**
 * Maximum number of keys of a full stat in the facts: servers send about ten, plugins add a few.
 */
const MAX_KEYS = 128;
/** Maximum number of UTF-16 units of a software name in the facts. */
const MAX_BRAND = 256;

/**
 * Maximum number of tokens for one stat request: each resent handshake may bring another token.
 */
const MAX_TOKENS = 3;

const QUERY_FLAGS: Readonly<
  Record<Exclude<StatFlag | ChallengeFlag, GeneralFlag> | "fullLost" | "statLost", string>
> = {
  motdNul: "a NUL byte in the MOTD: the server's owner may have forged other fields",
  oddHeader:
    "a full stat with another header than `splitnum`, or with wider marks around its parts",
  unterminated: "the token does not end with a NUL byte",
  noPlayerSection: "a full stat without a list of players",
  fullLost: "a basic stat arrived, but no full stat",
  statLost: "a handshake reply arrived, but no stat",
};

/** Query, as Java servers and Bedrock software speak it. */
export const queryProtocol: Protocol<QueryStatus> = {
  name: "query",
  finds: "Java servers and Bedrock software with Query switched on",
  probeText: "Query handshakes of 7 bytes",
  transport: "udp",
  flags: QUERY_FLAGS,
  incompleteFlags: ["fullLost", "statLost"],
  // The default port of Java servers. Bedrock software has Query on its RakNet port: a RakNet ping
  // finds the server, and a follow-up to the same port queries it.
  ports: { 4: [25565], 6: [25565] },
  reportsGamePort: true,
  playerFacts: [],
  // A stat lists players and plugins; other protocols shorten or omit these columns.
  fillsFirst: ["players_online", "players_max", "players", "plugins", "map", "software"],
  probe: {
    template: encodeHandshake(0),
    macMask: SESSION_MASK,
    mayLackToken: false,
    guessable: true, // With 16 bits, about three of 200,000 forged replies match.
    tokenAt: 3,
    read(datagram) {
      const mac = readHeader(datagram, 0x09, "handshake");
      return mac === undefined ? undefined : { mac };
    },
    content: (datagram) => ({ known: decodeQueryChallenge(datagram) }),
  },
  *exchange(context: ExchangeContext): Exchange<QueryStatus> {
    const known = context.known as Challenge | undefined;
    const session = known?.session ?? Number(context.nonce & BigInt(SESSION_MASK));
    const challenge = known ?? (yield* requestChallenge(session));
    try {
      const padding = challenge.raw ? PADDING.fullRaw : PADDING.full;
      const stat = yield* requestStat(session, challenge, padding);
      return { stat, challenge, fullLost: false };
    } catch (error) {
      if (!(error instanceof NoReply && context.lastAttempt)) throw error;
    }
    return yield* requestBasicStat(challenge);
  },
  reusable: ({ challenge }) => ({ known: challenge, forMs: TOKEN_MS }),
  record: (status) =>
    status.stat === undefined ? tokenStatement(status) : statStatement(status, status.stat),
};

function* requestChallenge(session: number): Exchange<Challenge> {
  const accept = (datagram: Uint8Array) => decodeQueryChallenge(datagram, session);
  return yield* request(encodeHandshake(session), accept, { resend: true });
}

/**
 * Requests a stat with a token. A resent handshake may bring a second token, and some servers then
 * reject the first one. The request is therefore repeated with the latest token.
 */
function* requestStat(session: number, first: Challenge, padding: number): Exchange<Stat> {
  for (let challenge = first, tokens = 1;; tokens++) {
    const reply: Stat | Challenge = yield* request(
      encodeStatRequest(session, challenge.token, padding),
      (datagram) => decodeStat(datagram, session) ?? newerChallenge(datagram, challenge, tokens),
      { resend: false },
    );
    if ("form" in reply) return reply;
    challenge = reply;
  }
}

/** Reads a token other than the one in use; `undefined` once {@linkcode MAX_TOKENS} were used. */
function newerChallenge(
  datagram: Uint8Array,
  inUse: Challenge,
  tokens: number,
): Challenge | undefined {
  if (tokens === MAX_TOKENS) return undefined;
  const challenge = decodeQueryChallenge(datagram, inUse.session);
  return challenge?.token === inUse.token ? undefined : challenge;
}

/**
 * Requests a basic stat after the request for a full stat got no reply. Without a stat, a second
 * reply to a handshake still proves that the endpoint is a server.
 */
function* requestBasicStat(first: Challenge): Exchange<QueryStatus> {
  const { session } = first;
  const challenge = yield* requestChallenge(session);
  try {
    const stat = yield* requestStat(session, challenge, PADDING.basic);
    return { stat, challenge, fullLost: true };
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return { stat: undefined, challenge, fullLost: false };
  }
}

function tokenStatement({ challenge: { raw, flags } }: QueryStatus): Statement {
  return { columns: {}, flags: ["statLost", ...flags], facts: { raw_token: raw } };
}

function statStatement({ challenge, fullLost }: QueryStatus, stat: Stat): Statement {
  const { columns, facts, badNumber, factsCut } = stat.form === "full"
    ? fullColumns(stat)
    : basicColumns(stat);
  const flags = new Set<string>([...challenge.flags, ...stat.flags]);
  if (badNumber) flags.add("badNumber");
  if (factsCut) flags.add("factsCut");
  if (fullLost) flags.add("fullLost");
  return {
    columns,
    flags: [...flags],
    facts: { form: stat.form, raw_token: challenge.raw, ...facts },
  };
}

/** A stat as columns and facts; flags report a count that is not a number, and omitted facts. */
interface StatColumns {
  readonly columns: Partial<ServerRecord>;
  readonly facts: Facts;
  readonly badNumber: boolean;
  readonly factsCut: boolean;
}

/** Keys of a full stat whose whole value is in a column, and not in the facts. */
const IN_COLUMNS = ["hostname", "version", "plugins", "map", "gametype"];

function fullColumns(stat: FullStat): StatColumns {
  const values = firstValues(stat);
  const text = (key: string) => values.get(key) || null;
  const { software, plugins } = parsePlugins(text("plugins") ?? "");
  const online = count(text("numplayers"));
  const max = count(text("maxplayers"));
  const columns = {
    ...nameColumns(text("hostname")),
    ...softwareColumns(stat.header, text("game_id"), text("server_engine") ?? software),
    version: text("version"),
    map: text("map"),
    gamemode: text("gametype"),
    players_online: online ?? null,
    players_max: max ?? null,
    players: namesOf(stat, online),
    plugins,
    port_v4: portOf(text("hostport")),
  };
  for (const key of IN_COLUMNS) values.delete(key);
  if (typeof online === "number") values.delete("numplayers");
  if (typeof max === "number") values.delete("maxplayers");
  let factsCut = (software?.length ?? 0) > MAX_BRAND;
  const kept = itemsWithinLimit(
    values,
    ([key, value]) => key.length + value.length,
    () => factsCut = true,
    MAX_KEYS,
  );
  const facts = {
    header: stat.header.replaceAll("\0", ""),
    ...(stat.mark && { header_mark: hexOf(stat.mark) }),
    ...(software === null ? {} : { brand: cutText(software, MAX_BRAND) }),
    values: Object.fromEntries(kept),
  };
  return { columns, facts, badNumber: online === undefined || max === undefined, factsCut };
}

/**
 * Names of the players; `null`: unknown. Players are online, but bytes of another form stand in place
 * of the first name.
 */
function namesOf({ players, flags }: FullStat, online: number | null | undefined) {
  const isUnread = players?.length === 0 && online && flags.includes("trailingBytes");
  return isUnread ? null : players?.map(decodeField) ?? null;
}

/** The first value of each key. A second `hostname` is the missing `hostip` (Beta 1.9-pre4). */
function firstValues(stat: FullStat): Map<string, string> {
  const values = new Map<string, string>();
  for (const [key, value] of stat.pairs) {
    if (!values.has(key)) values.set(key, decodeField(value));
    else if (key === "hostname" && !stat.pairs.some(([other]) => other === "hostip")) {
      values.set("hostip", decodeField(value));
    }
  }
  return values;
}

function basicColumns(stat: BasicStat): StatColumns {
  const text = (bytes: Uint8Array) => decodeField(bytes) || null;
  const online = count(text(stat.online));
  const max = count(text(stat.max));
  const columns = {
    ...nameColumns(text(stat.motd)),
    map: text(stat.map),
    gamemode: text(stat.gametype),
    players_online: online ?? null,
    players_max: max ?? null,
    port_v4: portOf(stat.port === null ? null : String(stat.port)),
  };
  const values: Record<string, string> = stat.ip === null ? {} : { hostip: decodeField(stat.ip) };
  const badNumber = online === undefined || max === undefined;
  return { columns, facts: { values }, badNumber, factsCut: false };
}

const EDITIONS = new Map([["MINECRAFT", "java"], ["MINECRAFTPE", "bedrock"]]);

/** Geyser of 2020 to 2022 sent the game id `MINECRAFT`, and its own name as the header word. */
function softwareColumns(header: string, gameId: string | null, software: string | null) {
  if (header === "GeyserMC") return { edition: "bedrock", software: "Geyser" };
  return { edition: EDITIONS.get(gameId ?? "") ?? null, software };
}

/**
 * Reads a count of at most nine digits; `null`: there is no text; `undefined`: it is not a number.
 */
function count(text: string | null): number | null | undefined {
  if (text === null) return null;
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

function portOf(text: string | null): number | null {
  const port = count(text) ?? 0;
  return port >= 1 && port <= 65535 ? port : null;
}
