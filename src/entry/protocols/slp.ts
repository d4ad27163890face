/**
 * Server List Ping, the protocol of Java servers: requests and statuses, and the old forms since
 * Beta 1.8.
 *
 * @module
 */
export type { JsonFlag } from "../../protocols/bounded_json.ts";
export {
  ANY_PROTOCOL,
  decodeSlpPing,
  decodeStatusRequest,
  decodeStatusResponse,
  encodeSlpPing,
  encodeStatusRequest,
  encodeStatusResponse,
  frameEnd,
  type Handshake,
  type StatusResponse,
} from "../../protocols/slp/codec.ts";
export type { Mod, Modding } from "../../protocols/slp/forge_mods.ts";
export {
  decodeLegacyPing,
  decodeLegacyReply,
  encodeLegacyPing,
  encodeLegacyReply,
  formatLegacyStatus,
  type LegacyPing,
  type LegacyReply,
  legacyReplyEnd,
  type LegacyStatus,
} from "../../protocols/slp/legacy_ping.ts";
export {
  type JavaDisconnect,
  type JavaStatus,
  parseStatus,
  type SampleEntry,
  type StatusFlag,
} from "../../protocols/slp/status_json.ts";
