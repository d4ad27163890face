/**
 * SQP, the protocol of servers that Unity hosts: challenges, queries, packets and their chunks.
 *
 * @module
 */
export {
  type Chunks,
  decodeReply,
  encodeChunks,
  type ServerInfo,
  type SqpReply,
  type SqpRule,
  type SqpTable,
} from "../../protocols/sqp/chunks.ts";
export {
  type ChunkName,
  CHUNKS,
  decodeSqpChallenge,
  decodeSqpPacket,
  decodeSqpRequest,
  encodeChallengeRequest,
  encodePackets,
  encodeQuery,
  encodeSqpChallenge,
  type SqpPacket,
  type SqpRequest,
} from "../../protocols/sqp/codec.ts";
export type { SqpValueType, TypedValue } from "../../protocols/sqp/typed_values.ts";
