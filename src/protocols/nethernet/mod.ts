/**
 * NetherNet, the transport of Bedrock servers since 1.26.50. A server replies to an HTTP request with
 * its status. Players then connect by WebRTC, which blocksweep never does.
 *
 * @module
 */
import { hashOf } from "../../core/bits.ts";
import type { GeneralFlag } from "../../core/flags.ts";
import type { Protocol } from "../protocol.ts";
import {
  isWeakStatus,
  NETHERNET_COLUMNS,
  NETHERNET_STATUS_PORT,
  nethernetStatement,
  type NethernetStatus,
} from "./columns.ts";
import type { HttpFlag } from "./http_reply.ts";
import { statusExchange } from "./status_exchange.ts";
import type { GameStatusFlag } from "./status_json.ts";

export * from "./codec.ts";
export { NETHERNET_STATUS_PORT, type NethernetStatus } from "./columns.ts";
export { type Header, HTTP_LIMITS, type HttpFlag, type HttpReply } from "./http_reply.ts";
export { type GameStatus, type GameStatusFlag, parseGameStatus } from "./status_json.ts";

/** A flag that only NetherNet has. */
type NethernetFlag = Exclude<HttpFlag | GameStatusFlag, GeneralFlag> | "noStatus";

/** The meanings of NetherNet's own flags. */
const NETHERNET_FLAGS: Readonly<Record<NethernetFlag, string>> = {
  noStatus: "the reply has no status: the server hides it, or is not ready",
  noLength: "the reply has no length and ends with the connection, so it may be incomplete",
  looseNumber: "a number is written as text",
  wrongType: "a text or a switch has another type; it is omitted",
  badJson: "unescaped control characters in the JSON, or a byte order mark before it",
  cut: "the status is larger than the limits of the decoder or of a row; the rest is omitted",
};

/** The name of a Bedrock Dedicated Server whose owner has not chosen another one. */
const DEFAULT_NAME = "Dedicated Server";

/** A hash of what its owner has chosen: name, level and player slots; and of the version. */
function statusFingerprint(
  _reply: unknown,
  status: NethernetStatus | undefined,
): number | undefined {
  const { name, version, level, max } = status?.game ?? {};
  if (name == null || name === DEFAULT_NAME) return undefined;
  return hashOf(new TextEncoder().encode(JSON.stringify([name, version, level, max])));
}

/** NetherNet's status over HTTP, as Bedrock servers speak it. */
export const nethernetProtocol: Protocol<NethernetStatus> = {
  name: "nethernet",
  finds: "Minecraft Bedrock servers, by NetherNet's HTTP requests over TCP",
  probeText: "NetherNet's HTTP requests over TCP",
  transport: "tcp",
  // Over IPv6 too: Bedrock Dedicated Server ignores `server-portv6` for NetherNet.
  ports: { 4: [NETHERNET_STATUS_PORT], 6: [NETHERNET_STATUS_PORT] },
  siblings: ["raknet"],
  isWeak: isWeakStatus,
  fingerprint: statusFingerprint,
  playerFacts: [],
  columns: NETHERNET_COLUMNS,
  exchange: statusExchange,
  record: nethernetStatement,
  flags: NETHERNET_FLAGS,
  limitFlags: ["cut"],
};
