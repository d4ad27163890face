/**
 * Checks whether a server that replies to pings accepts connections. It sends an open connection
 * request 1, as a real client does, and reads the reply. It never sends an open connection request
 * 2.
 *
 * Request 1 creates no state on the server: the reply depends only on the request (RakNet 4.081,
 * RakPeer.cpp; RakLib, UnconnectedMessageHandler.php; go-raknet, handler.go). Request 2 creates a
 * connection on the server, and no message ends a half-open connection harmlessly on all software.
 * Observed after reply 2, first without a further datagram, then with a disconnect notification
 * (0x15) in a frame set:
 *
 *     jsp-raknet 2.2.0            closes its listener after 10 s       closes its listener after 10 s
 *     @jsprismarine/raknet 0.14.1 counts a player for 10 s             counts a player for 10 s
 *     @serenityjs/raknet 0.8.21   counts a player for 15 s             drops the player at once
 *     raknet-node 0.5.0           reports a connection to its program  drops the connection at once
 *     raknet-native 1.2.3 (C++)   no effect                            bans the address for 30 s
 *
 * A connection request (0x09) before the notification avoids the ban, and does not change the
 * effect on the first two. Two facts that only request 2 would show therefore stay unknown: whether
 * a cookie is accepted, and whether RakNet has a free connection (0x14). If the advertisement
 * reports that all player slots are taken, `joinable` is unknown for this reason.
 *
 * - Request 1 is sent with the sizes of real clients, the largest first. The next size follows when a
 *   size gets no reply. The runtime cannot set the "don't fragment" bit, so the sizes test what the
 *   server accepts; they do not test the MTU of the path.
 * - Protocol 11 is sent first. A server that names another protocol (0x19) gets one more request with
 *   that protocol. Other protocols are not tried: go-raknet ignores a client for a while after a
 *   wrong protocol.
 * - Replies with GUID 0, or with an MTU outside RakNet's bounds, come from flood filters (go-raknet,
 *   dial.go) and are ignored. GUID 0 is accepted if the server's pong has GUID 0 too. Pongs of
 *   JSPrismarine may have it.
 *
 * @module
 */
import type { Statement } from "../protocol.ts";
import { type Exchange, NoReply, request } from "../protocol.ts";
import type { BedrockStatus } from "./advertisement.ts";
import { decodeRefusal, type Pong, type Refusal, type RefusalReason } from "./codec.ts";
import {
  decodeOpenReply1,
  encodeOpenRequest1,
  MTU_HEADERS,
  type OpenReply1,
} from "./open_connection.ts";

/** The MTUs that real clients request, in their order. */
const MTUS: readonly number[] = [1492, 1200, 576];
/** Size of a request 1 without padding, bytes. */
const MIN_SIZE = 18;
/** RakNet protocol number of the current game. */
const PROTOCOL = 11;

/** The meanings of the check's own flags. */
export const VERIFY_FLAGS = {
  advertOnly: "the server replies to pings, but not to connection requests",
  full:
    "all slots are taken: the server refuses connections for that reason, or its number of players reaches its slots (then `joinable` is empty)",
  banned: "the server refuses the scanner's address",
  incompatibleProtocol: "the server refuses the RakNet protocol number of the request",
  connectionAttemptFailed: "the server refuses connections",
  alreadyConnected:
    "the server refuses a second connection from the scanner's address; others may be able to join",
  recentlyConnected:
    "the server refuses a new connection from the scanner's address so soon; others may be able to join",
} as const;

/**
 * The value of `joinable` after a refusal. Some refusals concern only the address of the scanner.
 */
const REFUSED: Record<
  RefusalReason,
  { joinable: boolean | null; flag: keyof typeof VERIFY_FLAGS }
> = {
  noFreeConnections: { joinable: false, flag: "full" },
  banned: { joinable: false, flag: "banned" },
  incompatibleProtocol: { joinable: false, flag: "incompatibleProtocol" },
  connectionAttemptFailed: { joinable: false, flag: "connectionAttemptFailed" },
  alreadyConnected: { joinable: null, flag: "alreadyConnected" },
  recentlyConnected: { joinable: null, flag: "recentlyConnected" },
};

/**
 * A reply 1 and the protocol number of its request. Without a reply 1: the protocol number that the
 * server named.
 */
type FirstReply =
  | { readonly protocol: number; readonly reply: OpenReply1 }
  | { readonly protocol: number | undefined; readonly reply: undefined };

/**
 * Checks whether a server accepts connections, after its reply to a ping. A missing reply is a
 * result too. The exchange therefore never throws `NoReply`.
 *
 * @param pong The server's reply to the ping.
 * @param bedrock The advertisement in the pong, if it is one of Bedrock.
 */
export function* verifyJoinable(
  { guid }: Pong,
  bedrock: BedrockStatus | undefined,
): Exchange<Statement> {
  const first = yield* firstReply(guid);
  if ("reason" in first) return refusalFinding(first);
  if (first.reply === undefined) return noReplyFinding(first.protocol);
  const { protocol, reply } = first;
  const security = securityOf(reply);
  const known = { mtu: reply.mtu, raknet_protocol: protocol };
  // on a server with LIBCAT, only clients with the server's key can join
  if (security === "publicKey") return finding(known, [], { security });
  if (isFull(bedrock)) return finding(known, ["full"], { security });
  return finding({ ...known, joinable: true }, [], { security });
}

/** Whether an advertisement reports that all player slots are taken. */
function isFull(bedrock: BedrockStatus | undefined): boolean {
  const { online, max } = { online: null, max: null, ...bedrock };
  return online !== null && max !== null && max > 0 && online >= max;
}

/** Requests a first reply or a refusal, with all sizes and at most one other protocol. */
function* firstReply(guid: bigint): Exchange<FirstReply | Refusal> {
  let named: Refusal | undefined;
  for (let i = 0; i < MTUS.length;) {
    const protocol = named?.protocol ?? PROTOCOL;
    const bytes = encodeOpenRequest1({ protocol, padding: MTUS[i] - MTU_HEADERS - MIN_SIZE });
    const accept = (datagram: Uint8Array) =>
      acceptRefusal(datagram, named) ?? acceptReply(datagram, guid);
    const reply: OpenReply1 | Refusal | undefined = yield* orUndefined(
      request(bytes, accept, { resend: true }),
    );
    if (reply === undefined) i++;
    else if (!("reason" in reply)) return { protocol, reply };
    else if (named || reply.protocol === undefined || reply.protocol === PROTOCOL) return reply;
    else named = reply;
  }
  return { protocol: named?.protocol, reply: undefined };
}

/** Runs an exchange; returns `undefined` without a reply. */
function* orUndefined<T>(exchange: Exchange<T>): Exchange<T | undefined> {
  try {
    return yield* exchange;
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return undefined;
  }
}

/**
 * Reads a refusal. A refusal that names the protocol of the latest request is a duplicate reply to
 * the earlier request.
 */
function acceptRefusal(datagram: Uint8Array, named?: Refusal): Refusal | undefined {
  const refusal = decodeRefusal(datagram);
  return named !== undefined && refusal?.protocol === named.protocol ? undefined : refusal;
}

/** Reads a first reply; `undefined` if a flood filter sent it. */
function acceptReply(datagram: Uint8Array, guid: bigint): OpenReply1 | undefined {
  const reply = decodeOpenReply1(datagram);
  if (reply === undefined || reply.flags.includes("foreignMtu")) return undefined;
  return reply.guid === 0n && guid !== 0n ? undefined : reply;
}

function securityOf({ security }: OpenReply1): string {
  if (security === undefined) return "none";
  return security.publicKey === undefined ? "cookie" : "publicKey";
}

/**
 * The result when no reply 1 arrived. A server that named another protocol may ignore the client
 * for a while.
 */
function noReplyFinding(named: number | undefined): Statement {
  return named === undefined
    ? finding({ joinable: false }, ["advertOnly"])
    : finding({ raknet_protocol: named }, ["incompatibleProtocol"]);
}

function refusalFinding({ reason, protocol }: Refusal): Statement {
  const { joinable, flag } = REFUSED[reason];
  return finding({ ...protocol && { raknet_protocol: protocol }, joinable }, [flag]);
}

function finding(
  columns: Statement["columns"],
  flags: readonly string[],
  facts: Statement["facts"] = {},
): Statement {
  return { columns, flags, facts };
}
