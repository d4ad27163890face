/**
 * The RakNet protocol. One ping finds a Bedrock server, and the pong contains its whole status.
 * Whether the server accepts connections is checked only with `--verify`.
 *
 * @module
 */
import type { GeneralFlag } from "../../core/flags.ts";
import { decodeLatin1, harmlessText, plainText } from "../../core/text.ts";
import type { ServerRecord } from "../../core/record.ts";
import type {
  Exchange,
  ExchangeContext,
  Protocol,
  Reply,
  Statement,
  Verifier,
} from "../protocol.ts";
import { request } from "../protocol.ts";
import {
  type AdvertisementFlag,
  type BedrockStatus,
  decodeAdvertisement,
} from "./advertisement.ts";
import {
  decodePong,
  decodeRefusal,
  encodePing,
  type Pong,
  type PongFlag,
  type Refusal,
} from "./codec.ts";
import { VERIFY_FLAGS, verifyJoinable } from "./verify_joinable.ts";

export * from "./advertisement.ts";
export * from "./codec.ts";
export * from "./open_connection.ts";
export * from "./connected_messages.ts";
export {
  type AdvertisementFields as Fields,
  joinFields,
  type PlaceFlag,
  splitFields,
} from "./advertisement_fields.ts";
export * from "./frame_sets.ts";
export * from "./acknowledgements.ts";

/**
 * The client GUID of every ping: the ASCII letters "blockswp", by which operators can recognise it.
 */
export const CLIENT_GUID = 0x626c6f636b737770n;

/** A server's reply to a ping. */
export type RaknetStatus =
  | {
    readonly kind: "pong";
    readonly pong: Pong;
    /** The advertisement, if it is one of Bedrock. */
    readonly bedrock: BedrockStatus | undefined;
    /** Whether the pong repeats the ping's time; raknet-node writes its own clock instead. */
    readonly echoed: boolean;
  }
  | { readonly kind: "refusal"; readonly refusal: Refusal };

/** Checks whether a server accepts connections, without opening one. */
const joinableVerifier: Verifier<RaknetStatus> = {
  help: "check whether RakNet servers accept connections, without opening one",
  plan: "open connection request 1, up to 1,464 bytes, to each RakNet server that replied",
  exchange: (status) =>
    status.kind === "pong" ? verifyJoinable(status.pong, status.bedrock) : undefined,
  columns: ["joinable", "mtu", "raknet_protocol"],
  flags: VERIFY_FLAGS,
  summary: ({ mtu, raknet_protocol: protocol }) => [
    ...(mtu === null ? [] : [`MTU ${mtu}`]),
    ...(protocol === null ? [] : [`RakNet protocol ${protocol}`]),
  ],
};

/** Smallest random GUID; smaller ones are clocks, counters and constants. */
const LEAST_GUID = String(2n ** 48n);
/**
 * RakNet's "unassigned" GUID (RakNetTypes.h), and the scanner's own GUID, which a host returns if
 * it echoes pings.
 */
const UNASSIGNED_GUID = String(2n ** 64n - 1n);
const OWN_GUID = String(CLIENT_GUID);

/** Tests whether a GUID is a random number of one server, and not a constant of its software. */
export function isServerGuid(guid: string): boolean {
  return guid !== UNASSIGNED_GUID && guid !== OWN_GUID && !isSmall(guid);
}

/** Compares decimal texts without leading zeros: a shorter text is a smaller number. */
function isSmall(guid: string): boolean {
  return guid.length < LEAST_GUID.length || guid.length === LEAST_GUID.length && guid < LEAST_GUID;
}

/** A flag of RakNet alone. */
type RaknetFlag =
  | Exclude<PongFlag | AdvertisementFlag, GeneralFlag>
  | "otherGame"
  | "refused"
  | "timeNotEchoed";

/** The meanings of RakNet's own flags. */
const RAKNET_FLAGS: Readonly<Record<RaknetFlag, string>> = {
  motdSemicolon: "unescaped separators in the name; it is joined again, or omitted if ambiguous",
  levelSemicolon: "unescaped separators in the level or the game mode",
  noAdvertisement: "the pong has no status",
  noGamemode: "the game mode is missing: numbers follow the level",
  otherGame: "the status is that of another game",
  refused: "the server refuses the scanner",
  hidden: "a Pocket host hides its name",
  time32: "the server's RakNet has 32-bit times",
  timeNotEchoed: "the server does not repeat the token; a second query confirmed it",
};

/** The ports of Bedrock servers if their owners choose none, by address family. */
export const BEDROCK_PORTS = { 4: 19132, 6: 19133 } as const;

/** RakNet, as Bedrock servers speak it. */
export const raknetProtocol: Protocol<RaknetStatus> = {
  name: "raknet",
  finds: "Minecraft Bedrock servers, by RakNet pings",
  probeText: "RakNet pings of 33 bytes",
  transport: "udp",
  // Over IPv6, Bedrock Dedicated Server and PocketMine-MP use 19133, other software 19132.
  ports: { 4: [BEDROCK_PORTS[4]], 6: [BEDROCK_PORTS[4], BEDROCK_PORTS[6]] },
  broadcastPorts: { 4: [BEDROCK_PORTS[4]], 6: [BEDROCK_PORTS[6]] },
  isServerGuid,
  guidChangesOnRestart: (guid) => guid !== "0", // 0: the software has no random GUID
  playerFacts: [],
  probe: {
    template: encodePing({ openOnly: false, time: 0n, guid: CLIENT_GUID }),
    macMask: 0x7fffffff, // the top bit stays clear, for servers that read a signed time
    mayLackToken: true, // raknet-node does not repeat the time, and refusals contain no time
    tokenAt: 1,
    clockAt: 5,
    read: readReply,
    readContent: (raw) => ({ status: pongStatus(decodePong(raw)!, true), raw }),
  },
  *exchange({ nonce, exclusive }: ExchangeContext): Exchange<RaknetStatus> {
    const ping = encodePing({ openOnly: false, time: nonce, guid: CLIENT_GUID });
    return yield* request(ping, (datagram) => accept(datagram, nonce, exclusive), { resend: true });
  },
  record: (status) => status.kind === "pong" ? pongStatement(status) : refusalStatement(status),
  echoesToken: (status) => status.kind === "pong" && status.echoed,
  flags: RAKNET_FLAGS,
  verify: joinableVerifier,
};

/** Reads the token and clock of a pong; a refusal has neither. */
function readReply(datagram: Uint8Array): Reply | undefined {
  const pong = decodePong(datagram);
  if (pong !== undefined) {
    return { mac: Number(pong.time >> 32n), clock: Number(pong.time & 0xffffffffn) };
  }
  return decodeRefusal(datagram) && { mac: undefined };
}

/**
 * Reads a reply to a ping with this time. A reply with another time is accepted only on a socket
 * that serves only this exchange, because other hosts do not know its port.
 */
function accept(datagram: Uint8Array, time: bigint, exclusive: boolean): RaknetStatus | undefined {
  const pong = decodePong(datagram);
  if (pong !== undefined) {
    const echoed = pong.time === time;
    return echoed || exclusive ? pongStatus(pong, echoed) : undefined;
  }
  const refusal = exclusive ? decodeRefusal(datagram) : undefined;
  return refusal && { kind: "refusal", refusal };
}

function pongStatus(pong: Pong, echoed: boolean): RaknetStatus {
  return { kind: "pong", pong, bedrock: pong.text && decodeAdvertisement(pong.text), echoed };
}

function pongStatement(
  { pong, bedrock, echoed }: Extract<RaknetStatus, { kind: "pong" }>,
): Statement {
  const flags = [...pong.flags, ...(bedrock?.flags ?? []), ...(echoed ? [] : ["timeNotEchoed"])];
  if (bedrock !== undefined && bedrock.unnamed.length > MOST_UNNAMED) flags.push("factsCut");
  const guid = pong.guid.toString();
  if (bedrock !== undefined) {
    return {
      columns: { guid, ...bedrockColumns(bedrock) },
      flags,
      facts: bedrockFacts(bedrock),
      ...(bedrock.motdSent !== undefined && { motdSent: bedrock.motdSent }),
    };
  }
  if (pong.text === undefined || pong.text.length === 0) {
    return { columns: { guid }, flags, facts: {} };
  }
  const payload = harmlessText(decodeLatin1(pong.text.subarray(0, 200)));
  return { columns: { guid }, flags: [...flags, "otherGame"], facts: { payload } };
}

/**
 * Maximum number of fields without an agreed meaning in the facts; no software sends more than
 * five.
 */
const MOST_UNNAMED = 16;

const EDITION_NAMES = { MCPE: "bedrock", MCEE: "education", MCCPP: "pocket" } as const;

function bedrockColumns(status: BedrockStatus): Partial<ServerRecord> {
  // PocketMine-MP writes its own name in place of the level's, and nine fields.
  const software = status.level === "PocketMine-MP" && status.fieldCount === 9
    ? status.level
    : null;
  const plain = plainText(status.motd) || null;
  return {
    edition: EDITION_NAMES[status.edition],
    software,
    name: plain,
    motd: status.motd || null,
    motd_plain: plain,
    version: status.version,
    protocol_version: status.protocol,
    map: software === null ? status.level : null,
    gamemode: status.gamemode,
    players_online: status.online,
    players_max: status.max,
    port_v4: status.portV4,
    port_v6: status.portV6,
  };
}

function bedrockFacts(status: BedrockStatus): Statement["facts"] {
  return {
    server_id: status.serverId,
    level: status.level,
    field_count: status.fieldCount,
    terminated: status.terminated,
    unnamed: status.unnamed.slice(0, MOST_UNNAMED),
  };
}

function refusalStatement({ refusal }: Extract<RaknetStatus, { kind: "refusal" }>): Statement {
  return {
    columns: { guid: refusal.guid.toString(), raknet_protocol: refusal.protocol ?? null },
    flags: ["refused"],
    facts: { refusal: refusal.reason },
  };
}
