/**
 * The RakNet protocol. One ping finds a Bedrock server, and the pong contains its whole status.
 * Whether the server accepts connections is checked only with `--verify`.
 *
 * @module
 */
import { hashBytes } from "../../core/bits.ts";
import type { GeneralFlag } from "../../core/flags.ts";
import type { Protocol, Verifier } from "../protocol.ts";
import type { AdvertisementFlag } from "./advertisement.ts";
import type { PongFlag } from "./codec.ts";
import { decodePong } from "./codec.ts";
import { CLIENT_GUID, pingExchange, pingProbe } from "./ping.ts";
import type { RaknetStatus } from "./pong_status.ts";
import { raknetStatement } from "./statement.ts";
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
export { CLIENT_GUID } from "./ping.ts";
export type { RaknetStatus } from "./pong_status.ts";

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
const MIN_GUID = String(2n ** 48n);
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
  return guid.length < MIN_GUID.length || guid.length === MIN_GUID.length && guid < MIN_GUID;
}

/** A flag that only RakNet has. */
type RaknetFlag =
  | Exclude<PongFlag | AdvertisementFlag, GeneralFlag>
  | "otherGame"
  | "refused"
  | "timeNotEchoed";

const RAKNET_FLAGS: Readonly<Record<RaknetFlag, string>> = {
  motdSemicolon: "unescaped `;` in the name; the name is restored, or omitted if ambiguous",
  levelSemicolon: "unescaped `;` in the level or the game mode",
  noAdvertisement: "the pong has no status",
  noGamemode: "the game mode is missing: only numbers follow the level",
  otherGame: "the pong contains the status of another game",
  refused: "the server replies to pings with a refusal of the scanner's address",
  hidden: "a Pocket Edition host that hides its name",
  time32: "the server uses a form of RakNet with 32-bit times",
  timeNotEchoed: "the server does not repeat the token; its reply to a second query confirmed it",
};

/** The ports of Bedrock servers if their owners choose none, by address family. */
export const BEDROCK_PORTS = { 4: 19132, 6: 19133 } as const;

/** Offset of the GUID in a pong, after the id and the time. */
const GUID_AT = 9;

/** A hash of a pong: of its GUID, or of all but the time if the GUID is no random number. */
function pongFingerprint(reply: Uint8Array | undefined): number | undefined {
  const pong = reply && decodePong(reply);
  if (pong === undefined) return undefined;
  const isOwn = isServerGuid(String(pong.guid));
  return hashBytes(isOwn ? reply!.subarray(GUID_AT, GUID_AT + 8) : reply!.subarray(GUID_AT));
}

/** RakNet, as Bedrock servers speak it. */
export const raknetProtocol: Protocol<RaknetStatus> = {
  name: "raknet",
  finds: "Minecraft Bedrock servers, by RakNet pings",
  probeText: "RakNet pings of 33 bytes",
  transport: "udp",
  // Over IPv6, Bedrock Dedicated Server and PocketMine-MP use 19133, other software 19132.
  ports: { 4: [BEDROCK_PORTS[4]], 6: [BEDROCK_PORTS[4], BEDROCK_PORTS[6]] },
  broadcastPorts: { 4: [BEDROCK_PORTS[4]], 6: [BEDROCK_PORTS[6]] },
  siblings: ["nethernet"],
  isServerGuid,
  guidChangesOnRestart: (guid) => guid !== "0", // 0: the software has no random GUID
  fingerprint: pongFingerprint,
  playerFacts: [],
  probe: pingProbe,
  exchange: pingExchange,
  record: raknetStatement,
  echoesToken: (status) => status.kind === "pong" && status.echoed,
  flags: RAKNET_FLAGS,
  verify: joinableVerifier,
};
