/**
 * NetherNet, the transport of Bedrock servers since 1.26.50: HTTP requests for a status, replies and
 * statuses. The messages of its discovery on a LAN are in the subpath `lan`.
 *
 * @module
 */
export {
  decodeHttpReply,
  decodeStatusRequest,
  encodeHttpReply,
  encodeStatusRequest,
  type NewReply,
  type StatusRequest,
} from "../../protocols/nethernet/codec.ts";
export { type Header, type HttpReply } from "../../protocols/nethernet/http_reply.ts";
export { decodeStatus, type GameStatus } from "../../protocols/nethernet/status_json.ts";
