/**
 * The Server List Ping protocol: one connection and one request return the status.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import { hashBytes } from "../../core/bits.ts";
import type { GeneralFlag } from "../../core/flags.ts";
import { formatAddress } from "../../core/address.ts";
import { nodeUrl } from "../../core/node_modules.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import type { Exchange, ExchangeContext, Protocol } from "../protocol.ts";
import { Closed, NoReply, request } from "../protocol.ts";
import {
  ANY_PROTOCOL,
  decodeSlpPing,
  decodeStatusResponse,
  encodeSlpPing,
  encodeStatusRequest,
  frameEnd,
  peekId,
} from "./codec.ts";
import { StreamBuffer } from "../stream_buffer.ts";
import {
  decodeLegacyReply,
  encodeLegacyPing,
  type LegacyFlag,
  legacyReplyEnd,
} from "./legacy_ping.ts";
import { SLP_COLUMNS, slpStatement, type SlpStatus } from "./columns.ts";
import { parseStatus, type StatusFlag } from "./status_json.ts";

export * from "./codec.ts";
export type { JsonFlag } from "../bounded_json.ts";
export type { SlpStatus } from "./columns.ts";
export * from "./forge_mods.ts";
export * from "./legacy_ping.ts";
export * from "./packed_mods.ts";
export * from "./status_json.ts";

/**
 * Client protocol numbers, in the order of the requests. The next number is used if the peer closes
 * the connection. Most servers accept an unspecified version. Some software replies only to certain
 * numbers: 765 is 1.20.4, and 47 is 1.8 (quarry accepts 47 and not 765).
 */
const CLIENT_PROTOCOLS = [ANY_PROTOCOL, 765, 47];
/**
 * Names of the legacy pings, in the order of the requests. As in the game, the complete ping of 1.6
 * comes first. It begins with the other two, so servers of all versions before 1.7 reply to it. Some
 * software replies only to another form.
 */
const LEGACY_FORMS = ["fe01fa", "fe01", "fe"] as const;
/**
 * The legacy pings of a server that neither replied to a status request nor closed its connection, as
 * 1.6 does. Each further ping would be one more wait for an open port without a server.
 */
const FIRST_FORM = LEGACY_FORMS.slice(0, 1);
/** The protocol number of the game's own ping of 1.6. Later servers require at least 73. */
const LEGACY_PROTOCOL = 127;
/** How long a number that a server has accepted is used again, milliseconds: a day. */
const ACCEPTED_MS = DAY_MS;
/**
 * Maximum number of UTF-16 units of a kick in reply to a status request; the game writes some
 * hundreds.
 */
const MAX_KICK = 4095;
/** Maximum number of bytes that a server may send before its pong. */
const MAX_BEFORE_PONG = 65_536;

/** A flag that only Server List Ping has. */
type SlpFlag =
  | Exclude<StatusFlag | LegacyFlag, GeneralFlag>
  | "badFavicon"
  | "disconnected"
  | "pongDiffers"
  | "sampleText"
  | "versionEchoed";

/** The meanings of Server List Ping's own flags. */
const SLP_FLAGS: Readonly<Record<SlpFlag, string>> = {
  disconnected: "the server sent a reason why players cannot join, in place of a status",
  badFavicon: "the icon is not a PNG in a data URL, or is larger than 64 KiB",
  pongDiffers: "the pong's bytes differ from the ping's",
  sampleText: "the player sample contains lines of text in place of players' names",
  versionEchoed:
    "the protocol number is that of the request, so the server may have another version",
  motdCut: "the MOTD is larger than the limits of the decoder; the rest is omitted",
};

/** The MOTD of a server whose owner has not chosen another one. */
const DEFAULT_MOTD = "A Minecraft Server";

/** A hash of what its owner has chosen: name of the version, MOTD, player slots and icon. */
function statusFingerprint(_reply: unknown, status: SlpStatus | undefined): number | undefined {
  if (status?.kind !== "status") return undefined;
  const { versionName, motd, max, favicon } = status.java;
  if (motd === null || motd === DEFAULT_MOTD) return undefined;
  return hashBytes(new TextEncoder().encode(JSON.stringify([versionName, motd, max, favicon])));
}

/** Server List Ping, as Java servers speak it. */
export const slpProtocol: Protocol<SlpStatus> = {
  name: "slp",
  fingerprint: statusFingerprint,
  finds: "Minecraft Java servers, by Server List Pings over TCP",
  probeText: "Server List Pings over TCP",
  transport: "tcp",
  flags: SLP_FLAGS,
  limitFlags: ["cut"],
  playersAreTextFlag: "sampleText",
  ports: { 4: [25565], 6: [25565] }, // default of Java servers
  hasServiceRecords: true,
  playerFacts: [],
  columns: SLP_COLUMNS,
  *exchange(context: ExchangeContext): Exchange<SlpStatus> {
    const known = context.known as number | undefined;
    const status = yield* requestAnyStatus(
      context,
      known === undefined ? CLIENT_PROTOCOLS : [known],
    );
    if (!(status instanceof NoReply) && !isKick(status)) return status;
    if (known !== undefined) throw new Closed(); // the number is no longer accepted
    // Legacy pings come last. Modern servers publish less in reply to them, or wait for more bytes.
    const isSilent = status instanceof NoReply && !(status instanceof Closed);
    const legacy = yield* requestLegacyStatus(context, isSilent ? FIRST_FORM : LEGACY_FORMS);
    if (legacy?.reply.status !== undefined) return legacy;
    const kick = isKick(status) ? status : legacy;
    if (kick === undefined) throw status;
    return checkedKick(kick);
  },
  reusable: (status) =>
    status.kind === "status" && status.requestProtocol !== undefined
      ? { known: status.requestProtocol, forMs: ACCEPTED_MS }
      : undefined,
  record: slpStatement,
};

type Legacy = Extract<SlpStatus, { kind: "legacy" }>;

function isKick(status: SlpStatus | NoReply): status is Legacy {
  return !(status instanceof NoReply) && status.kind === "legacy";
}

/**
 * Rejects a long kick that is incomplete. Any other message that starts with `ff` looks like such a
 * kick.
 */
function checkedKick(status: Legacy): Legacy {
  const { text, flags } = status.reply;
  if (text.length > 255 && flags.includes("lengthMismatch")) {
    throw new Malformed("neither a status nor a kick", 0);
  }
  return status;
}

/**
 * Requests a status with one number after the other, while the peer closes the connection.
 *
 * @returns The error of the last request if none got a reply.
 */
function* requestAnyStatus(
  context: ExchangeContext,
  numbers: readonly number[],
): Exchange<SlpStatus | NoReply> {
  let status: SlpStatus | NoReply | undefined;
  for (const protocol of numbers) {
    status = yield* requestStatus(context, protocol, protocol !== numbers[0]);
    if (!(status instanceof Closed)) break;
  }
  return status!;
}

/**
 * Requests a status, then a pong. The ping follows the status, because a ping in the same write can
 * overtake the status request, and servers close the connection after the pong.
 *
 * @returns The error of a request without a reply.
 */
function* requestStatus(
  context: ExchangeContext,
  protocol: number,
  fresh: boolean,
): Exchange<SlpStatus | NoReply> {
  const { statusOnly, nonce } = context;
  const bytes = encodeStatusRequest({ protocol, ...serverOf(context) });
  const inbox = new StreamBuffer();
  const size = yield* requestBytes({ bytes, fresh }, inbox, replySize);
  if (size instanceof NoReply) return size;
  if (isKickStart(inbox.bytes)) return legacyStatus(inbox.bytes.subarray(0, size), "status");
  const response = decodeStatusResponse(inbox.bytes)!;
  const java = parseStatus(response.json);
  if (java.kind === "disconnect") return java;
  const trailing = response.trailing.length;
  inbox.drop(size);
  const pong = statusOnly ? nonce : yield* requestPong(nonce, inbox);
  const pongDiffers = pong !== undefined && pong !== nonce;
  const status = { kind: "status", java, trailing, pongDiffers } as const;
  return protocol === ANY_PROTOCOL ? status : { ...status, requestProtocol: protocol };
}

/**
 * The host and port of a request. As in the game, they are those that the user typed, whatever an
 * SRV record says; names consist of A-labels.
 */
function serverOf({ endpoint: { address, port }, requestedAs, requestedPort }: ExchangeContext) {
  const host = requestedAs ?? formatAddress(address);
  const isAscii = /^[\x20-\x7e]*$/.test(host);
  return { host: isAscii ? host : nodeUrl().domainToASCII(host), port: requestedPort ?? port };
}

/**
 * Writes a request and collects the bytes of the reply. `sizeOf` returns the reply's size once its
 * first bytes determine it. If the reply is incomplete, the bytes that arrived are returned.
 *
 * @returns The reply's size, bytes; the error when the peer sent none.
 */
function* requestBytes(
  { bytes, fresh }: { bytes: Uint8Array; fresh: boolean },
  inbox: StreamBuffer,
  sizeOf: (bytes: Uint8Array) => number | undefined,
): Exchange<number | NoReply> {
  const accept = (chunk: Uint8Array) => {
    inbox.push(chunk);
    const size = sizeOf(inbox.bytes);
    return size !== undefined && size <= inbox.bytes.length ? size : undefined;
  };
  try {
    return yield* request(bytes, accept, fresh ? { resend: false, fresh } : { resend: false });
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return inbox.bytes.length > 0 ? inbox.bytes.length : error;
  }
}

/**
 * Size of the kick or status whose first bytes have arrived; `undefined` while too few bytes have
 * arrived. Replies in another protocol (HTTP, SSH) are recognised by their first bytes, and end the
 * exchange.
 */
function replySize(bytes: Uint8Array): number | undefined {
  const isKick = isKickStart(bytes);
  if (isKick !== false) return isKick ? legacyReplyEnd(bytes) : undefined;
  const end = frameEnd(bytes);
  const id = peekId(bytes);
  if (id) throw new Malformed(`packet ${id} in place of a status`, 0);
  return end;
}

/**
 * Whether the reply is a kick; `undefined` while too few bytes have arrived. `ff 00` starts a kick:
 * as the length of a frame, it would have a needless second byte. `ff 01` starts a frame of 255
 * bytes if the id of a status follows, and then a length of two bytes or a `{`. Otherwise `ff 01`
 * starts a kick of 256 letters or more.
 */
function isKickStart(bytes: Uint8Array): boolean | undefined {
  const [first, high, low, next, fifth] = bytes;
  if (first !== 0xff || high > MAX_KICK >> 8) return false;
  if (high === 0) return true;
  if (fifth === undefined) return undefined;
  const isStatus = low === 0 && (next >= 0x80 || next > 0 && fifth === 0x7b);
  return !isStatus;
}

/** Requests a pong; `undefined` when none arrives. The status is valid without a pong. */
function* requestPong(payload: bigint, inbox: StreamBuffer): Exchange<bigint | undefined> {
  let bytes = 0;
  const accept = (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > MAX_BEFORE_PONG) throw new Malformed("too many bytes before a pong", 0);
    inbox.push(chunk);
    return firstPong(inbox);
  };
  try {
    const early = firstPong(inbox); // a pong that arrived before the ping
    return early ?? (yield* request(encodeSlpPing(payload), accept, { resend: false }));
  } catch (error) {
    const broken = error instanceof Malformed || error instanceof Truncated;
    if (!broken && !(error instanceof NoReply)) throw error;
    return undefined;
  }
}

/** Takes the first pong among the complete frames; other frames are dropped. */
function firstPong(inbox: StreamBuffer): bigint | undefined {
  for (;;) {
    const end = frameEnd(inbox.bytes);
    if (end === undefined || end > inbox.bytes.length) return undefined;
    const pong = decodeSlpPing(inbox.bytes);
    inbox.drop(end);
    if (pong !== undefined) return pong;
  }
}

/**
 * Requests a status with legacy pings, as clients before 1.7 do, until one of them gets a reply.
 *
 * @returns `undefined` when none got a reply.
 */
function* requestLegacyStatus(
  context: ExchangeContext,
  forms: readonly (typeof LEGACY_FORMS[number])[],
): Exchange<Legacy | undefined> {
  const data = {
    fe01fa: { protocol: LEGACY_PROTOCOL, ...serverOf(context) },
    fe01: "01",
    fe: "none",
  } as const;
  for (const form of forms) {
    const inbox = new StreamBuffer();
    const bytes = encodeLegacyPing({ data: data[form] });
    const size = yield* requestBytes({ bytes, fresh: true }, inbox, kickSize);
    if (typeof size === "number") return legacyStatus(inbox.bytes.subarray(0, size), form);
  }
}

/**
 * Size of the kick whose first bytes have arrived; `undefined` while too few bytes have arrived.
 */
function kickSize(bytes: Uint8Array): number | undefined {
  if (bytes.length > 0 && bytes[0] !== 0xff) {
    throw new Malformed("a reply to a legacy ping that is not a kick", 0);
  }
  return legacyReplyEnd(bytes);
}

function legacyStatus(bytes: Uint8Array, requestForm: string): Legacy {
  return { kind: "legacy", reply: decodeLegacyReply(bytes)!, requestForm };
}
