/**
 * The contracts of sockets and networks, the rate limit, and the caps.
 *
 * @module
 */
export { ConnectionSlots } from "./connection_slots.ts";
export { Demultiplexer } from "./demultiplexer.ts";
export { DialedPorts } from "./dialed_ports.ts";
export {
  anyAddress,
  type LocalSockets,
  type Network,
  type OptOutList,
  type OptOutSource,
} from "./network.ts";
export { exclusiveLink } from "./peer_link.ts";
export {
  type PortReply,
  type PortSocket,
  type PortSocketOptions,
  type PortWait,
  SWEEP_WAIT_MS,
} from "./port_socket.ts";
export { type SendGate, untilOpen } from "./send_gate.ts";
export {
  type Batch,
  DatagramBatch,
  type DatagramReceiver,
  type DatagramSocket,
  type Link,
  MAX_IN_BATCH,
  MAX_IN_BLOCK,
  noErrors,
  type ProbeSocket,
  type ReceiverCapacity,
  type SentBlock,
  type SocketErrors,
  Stamp,
  type TargetThread,
  type Template,
  type ThreadPass,
} from "./socket.ts";
export type {
  ConnectFailure,
  ConnectionEnd,
  Dialer,
  EncryptedStream,
  Stream,
  TlsFailure,
} from "./stream.ts";
export {
  dial,
  STREAM_LIMITS,
  type StreamLimits,
  StreamLink,
  type StreamLinkOptions,
} from "./stream_link.ts";
export { HOST_RATE, type Limits, Throttle } from "./throttle.ts";
