/**
 * Whether a server that answers pings opens connections: an open connection request 1, as a real
 * client sends it, and its reply. No open connection request 2 is ever sent.
 *
 * Request 1 leaves nothing behind: its reply is built from the request alone (RakNet 4.081,
 * RakPeer.cpp; RakLib, UnconnectedMessageHandler.php; go-raknet, handler.go). Request 2 makes a
 * server keep a connection, and nothing ends a half-open one harmlessly everywhere. Observed after
 * reply 2, without another datagram and with a disconnect notification (0x15) in a frame set:
 *
 *     jsp-raknet 2.2.0            closes its listener after 10 s       the same
 *     @jsprismarine/raknet 0.14.1 counts a player for 10 s             the same
 *     @serenityjs/raknet 0.8.21   counts a player for 15 s             forgets it at once
 *     raknet-node 0.5.0           hands a connection to its program    forgets it at once
 *     raknet-native 1.2.3 (C++)   shows nothing                        bans the address for 30 s
 *
 * A connection request (0x09) before the notification avoids the ban, and changes nothing for the
 * first two. So what only request 2 would show stays unknown: whether a cookie is accepted, and
 * whether RakNet has a free connection (0x14). Where the advertisement says that every place is
 * taken, `joinable` is therefore unknown.
 *
 * - Request 1 is tried with the sizes of real clients, the largest first; the next one follows when
 *   a size stays without a reply. Without the bit that forbids fragments, which the runtime cannot
 *   set, they show what the server takes, and not what the path does.
 * - Protocol 11 comes first; a server that names another one (0x19) gets one more request, with that.
 *   Never without need: go-raknet is silent for a while after a wrong protocol.
 * - Replies with GUID 0, or with an MTU that no RakNet has, are those of filters against floods
 *   (go-raknet, dial.go), and are passed over; but GUID 0 is the server's where its pong has it too,
 *   as JSPrismarine's may.
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

/** The MTUs that real clients try. */
const MTUS: readonly number[] = [1492, 1200, 576];
/** A request 1 without padding. */
const LEAST_SIZE = 18;
/** The protocol of today's game. */
const PROTOCOL = 11;

/** What a refusal means for who wants to join: some say nothing about others than us. */
const REFUSED: Record<RefusalReason, { joinable: boolean | null; flag: string }> = {
  noFreeConnections: { joinable: false, flag: "full" },
  banned: { joinable: false, flag: "banned" },
  incompatibleProtocol: { joinable: false, flag: "incompatibleProtocol" },
  connectionAttemptFailed: { joinable: false, flag: "connectionAttemptFailed" },
  alreadyConnected: { joinable: null, flag: "alreadyConnected" },
  recentlyConnected: { joinable: null, flag: "recentlyConnected" },
};

/** A reply 1, and the protocol that brought it; or the one that the server named before silence. */
type FirstReply =
  | { readonly protocol: number; readonly reply: OpenReply1 }
  | { readonly protocol: number | undefined; readonly reply: undefined };

/**
 * Finds out whether the server opens connections. It must have replied to a ping before.
 *
 * It does not end in silence: no reply is a finding too.
 *
 * @param pong The reply to the ping.
 * @param bedrock Its advertisement, where that is Bedrock's.
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
  if (security === "publicKey") return finding(known, [], { security }); // only friends have keys
  if (isFull(bedrock)) return finding(known, ["full"], { security });
  return finding({ ...known, joinable: true }, [], { security });
}

/** Whether an advertisement says that every place is taken. */
function isFull(bedrock: BedrockStatus | undefined): boolean {
  const { online, max } = { online: null, max: null, ...bedrock };
  return online !== null && max !== null && max > 0 && online >= max;
}

/** The first reply, or a refusal. All sizes are tried, and one protocol besides the usual. */
function* firstReply(guid: bigint): Exchange<FirstReply | Refusal> {
  let named: Refusal | undefined;
  for (let i = 0; i < MTUS.length;) {
    const protocol = named?.protocol ?? PROTOCOL;
    const bytes = encodeOpenRequest1({ protocol, padding: MTUS[i] - MTU_HEADERS - LEAST_SIZE });
    const accept = (datagram: Uint8Array) =>
      acceptRefusal(datagram, named) ?? acceptReply(datagram, guid);
    const answer: OpenReply1 | Refusal | undefined = yield* orUndefined(
      request(bytes, accept, { resend: true }),
    );
    if (answer === undefined) i++;
    else if (!("reason" in answer)) return { protocol, reply: answer };
    else if (named || answer.protocol === undefined || answer.protocol === PROTOCOL) return answer;
    else named = answer;
  }
  return { protocol: named?.protocol, reply: undefined };
}

/** NoReply as `undefined`. */
function* orUndefined<T>(exchange: Exchange<T>): Exchange<T | undefined> {
  try {
    return yield* exchange;
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return undefined;
  }
}

/** What names the protocol that is now tried answers the request before, a second time. */
function acceptRefusal(datagram: Uint8Array, named?: Refusal): Refusal | undefined {
  const refusal = decodeRefusal(datagram);
  return named !== undefined && refusal?.protocol === named.protocol ? undefined : refusal;
}

/** A first reply that is not a filter's: of the server whose pong has this GUID. */
function acceptReply(datagram: Uint8Array, guid: bigint): OpenReply1 | undefined {
  const reply = decodeOpenReply1(datagram);
  if (reply === undefined || reply.flags.includes("foreignMtu")) return undefined;
  return reply.guid === 0n && guid !== 0n ? undefined : reply;
}

function securityOf({ security }: OpenReply1): string {
  if (security === undefined) return "none";
  return security.publicKey === undefined ? "cookie" : "publicKey";
}

/** No answer; a server that named a protocol may be sulking. */
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
