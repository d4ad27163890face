/**
 * Whether a server that answers pings lets anybody in: the first steps of opening a connection, as a
 * real client takes them, up to the second reply and never further.
 *
 * - Request 1 is tried with the sizes of real clients, the largest first; the next one follows when
 *   a size stays without an answer. Without the bit that forbids fragments, which the runtime cannot
 *   set, they show what the server takes, and not what the path does.
 * - Protocol 11 comes first; a server that names another one (0x19) is asked once more, with that.
 *   Never without need: go-raknet is silent for a while after a wrong protocol.
 * - Replies with GUID 0, or with a MTU that no RakNet has, are those of filters against floods
 *   (go-raknet, dial.go), and are passed over. Some of them answer request 2 with another reply 1,
 *   whose cookie counts then.
 *
 * @module
 */
import type { Statement } from "../protocol.ts";
import { ask, type Exchange, type ExchangeContext, Silence } from "../protocol.ts";
import { decodeRefusal, type Refusal, type RefusalReason } from "./codec.ts";
import {
  decodeOpenReply1,
  decodeOpenReply2,
  encodeOpenRequest1,
  encodeOpenRequest2,
  MTU_HEADERS,
  type OpenReply1,
  type OpenReply2,
} from "./connect.ts";

/** The MTUs that real clients try. */
const MTUS: readonly number[] = [1492, 1200, 576];
/** A request 1 without padding. */
const LEAST_SIZE = 18;
/** The protocol of today's game. */
const PROTOCOL = 11;
/** How many cookies may be shown. */
const MOST_COOKIES = 3;

/** "block" as the first five bytes of a client's GUID; the rest is new each time. */
const GUID_PREFIX = 0x626c6f636bn << 24n;

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
 * Finds out whether the door is open. The server must have answered a ping before, and the socket
 * must serve nothing else: RakNet ties a connection to it.
 *
 * It does not end in silence: a door that stays shut is a finding too.
 */
export function* verifyDoor(context: ExchangeContext): Exchange<Statement> {
  const first = yield* firstReply();
  if ("reason" in first) return refused(first);
  if (first.reply === undefined) return silent(first.protocol);
  const { protocol, reply } = first;
  const security = securityOf(reply);
  const known = { mtu: reply.mtu, raknet_protocol: protocol };
  if (security === "publicKey") return finding(known, [], { security }); // only friends have keys
  // RakNet refuses a GUID that is connected, or was a moment ago: each attempt has one of its own.
  const guid = GUID_PREFIX | context.nonce & 0xffffffn;
  const second = yield* secondReply(context, reply, guid);
  if (second === undefined) return finding(known, ["reply2Lost"], { security });
  if ("reason" in second) return refused(second, known, { security });
  return finding({ ...known, joinable: true, mtu: second.mtu }, [], { security });
}

/** The first reply, or a refusal. All sizes are tried, and one protocol besides the usual. */
function* firstReply(): Exchange<FirstReply | Refusal> {
  let named: Refusal | undefined;
  for (let i = 0; i < MTUS.length;) {
    const protocol = named?.protocol ?? PROTOCOL;
    const request = encodeOpenRequest1({ protocol, padding: MTUS[i] - MTU_HEADERS - LEAST_SIZE });
    const answer: OpenReply1 | Refusal | undefined = yield* orSilence(
      ask(request, (datagram) => acceptFirst(datagram, named), { resend: true }),
    );
    if (answer === undefined) i++;
    else if (!("reason" in answer)) return { protocol, reply: answer };
    else if (named || answer.protocol === undefined || answer.protocol === PROTOCOL) return answer;
    else named = answer;
  }
  return { protocol: named?.protocol, reply: undefined };
}

/** The second reply, or a refusal; `undefined` when none comes. */
function* secondReply(
  { endpoint: address }: ExchangeContext,
  first: OpenReply1,
  guid: bigint,
): Exchange<OpenReply2 | Refusal | undefined> {
  for (let reply = first, cookies = 1;; cookies++) {
    const cookie = reply.security?.cookie;
    const request = encodeOpenRequest2({ cookie, address, mtu: reply.mtu, guid });
    const accept = (datagram: Uint8Array) => {
      const other = cookies < MOST_COOKIES ? trueReply(datagram) : undefined;
      if (other !== undefined) return other.security?.cookie === cookie ? undefined : other;
      const refusal = decodeRefusal(datagram);
      // What names a protocol is late: it answers a request 1.
      return refusal?.protocol === undefined ? refusal ?? decodeOpenReply2(datagram) : undefined;
    };
    const answer: OpenReply1 | OpenReply2 | Refusal | undefined = yield* orSilence(
      ask(request, accept, { resend: true }),
    );
    if (answer === undefined || "reason" in answer || "address" in answer) return answer;
    reply = answer;
  }
}

/** Silence as `undefined`. */
function* orSilence<T>(exchange: Exchange<T>): Exchange<T | undefined> {
  try {
    return yield* exchange;
  } catch (error) {
    if (!(error instanceof Silence)) throw error;
    return undefined;
  }
}

/** What names the protocol that is now tried answers the request before, a second time. */
function acceptFirst(datagram: Uint8Array, named?: Refusal): OpenReply1 | Refusal | undefined {
  const refusal = decodeRefusal(datagram);
  if (named !== undefined && refusal?.protocol === named.protocol) return undefined;
  return refusal ?? trueReply(datagram);
}

/** A first reply that is not a filter's. */
function trueReply(datagram: Uint8Array): OpenReply1 | undefined {
  const reply = decodeOpenReply1(datagram);
  return reply?.guid === 0n || reply?.flags.includes("foreignMtu") ? undefined : reply;
}

function securityOf({ security }: OpenReply1): string {
  if (security === undefined) return "none";
  return security.publicKey === undefined ? "cookie" : "publicKey";
}

/** No answer; a server that named a protocol may be sulking. */
function silent(named: number | undefined): Statement {
  return named === undefined
    ? finding({ joinable: false }, ["advertOnly"])
    : finding({ raknet_protocol: named }, ["incompatibleProtocol"]);
}

function refused(
  { reason, protocol }: Refusal,
  known: Statement["columns"] = {},
  facts: Statement["facts"] = {},
): Statement {
  const { joinable, flag } = REFUSED[reason];
  return finding(
    { ...known, ...protocol && { raknet_protocol: protocol }, joinable },
    [flag],
    facts,
  );
}

function finding(
  columns: Statement["columns"],
  flags: readonly string[],
  facts: Statement["facts"] = {},
): Statement {
  return { columns, flags, facts };
}
