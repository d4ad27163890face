/**
 * RakNet, the protocol of Bedrock servers: pings, pongs with their advertisement, and the messages
 * that open a connection.
 *
 * @module
 */
export {
  type Acknowledgement,
  decodeAcknowledgement,
  encodeAcknowledgement,
  type SequenceRange,
} from "../../protocols/raknet/acknowledgements.ts";
export { type BedrockStatus, decodeAdvertisement } from "../../protocols/raknet/advertisement.ts";
export {
  type Advertisement,
  decodeAdvertiseSystem,
  decodePing,
  decodePong,
  decodeRefusal,
  encodeAdvertiseSystem,
  encodePing,
  encodePong,
  encodeRefusal,
  type Ping,
  type Pong,
  type Refusal,
} from "../../protocols/raknet/codec.ts";
export {
  type Addresses,
  type ConnectedMessage,
  decodeConnected,
  encodeConnected,
} from "../../protocols/raknet/connected_messages.ts";
export {
  decodeFrameSet,
  encodeFrameSet,
  type FrameSet,
  type RaknetFrame,
  type Split,
} from "../../protocols/raknet/frame_sets.ts";
export {
  decodeOpenReply1,
  decodeOpenReply2,
  decodeOpenRequest1,
  decodeOpenRequest2,
  encodeOpenReply1,
  encodeOpenReply2,
  encodeOpenRequest1,
  encodeOpenRequest2,
  type OpenReply1,
  type OpenReply2,
  type OpenRequest1,
  type OpenRequest2,
  type Security,
} from "../../protocols/raknet/open_connection.ts";
