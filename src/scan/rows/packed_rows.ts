/**
 * The sources of rows in messages to a thread. Undecoded replies from IPv4 endpoints, which are nearly
 * all, are packed into one buffer; other sources are copied as objects, which takes longer.
 *
 * A packed source, little endian (sizes in bytes):
 *
 *     seenAt 8   latencyMs 8 (NaN: null)   address 4   length of the reply 4   port 2   protocol 1   reply
 *
 * Protocol 255 stands for the next of the other sources; nothing else is read of such an entry.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { RowSource } from "./row_maker.ts";

const [LATENCY, ADDRESS, LENGTH, PORT, PROTOCOL, HEAD] = [8, 16, 20, 24, 26, 27];
const OTHER = 255;

/** The sources of rows in one message. */
export interface PackedRows {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly others: readonly RowSource[];
}

export function packRows(
  sources: readonly RowSource[],
  protocols: readonly Protocol[],
): PackedRows {
  const others: RowSource[] = [];
  const bytes = new Uint8Array(sources.reduce((sum, { replies }) => sum + sizeOf(replies), 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const source of sources) {
    const { endpoint: { address, port }, replies, seenAt, latencyMs } = source;
    if (!("raw" in replies) || typeof address === "bigint" || hasMore(source)) {
      view.setUint8(at + PROTOCOL, OTHER);
      others.push(source);
    } else {
      const { protocol, raw } = replies;
      view.setFloat64(at, seenAt, true);
      view.setFloat64(at + LATENCY, latencyMs ?? NaN, true);
      view.setUint32(at + ADDRESS, address, true);
      view.setUint32(at + LENGTH, raw.length, true);
      view.setUint16(at + PORT, port, true);
      view.setUint8(at + PROTOCOL, protocols.findIndex(({ name }) => name === protocol));
      bytes.set(raw, at + HEAD);
    }
    at += sizeOf(replies);
  }
  return { bytes, others };
}

/** Whether a source has values that are not packed. */
function hasMore({ requestedAs, isCutShort }: RowSource): boolean {
  return requestedAs !== null || isCutShort;
}

function sizeOf(replies: RowSource["replies"]): number {
  return HEAD + ("raw" in replies ? replies.raw.length : 0);
}

/** The sources in a message, in their order. Replies are views into it. */
export function* unpackRows(
  { bytes, others }: PackedRows,
  protocols: readonly Protocol[],
): Generator<RowSource, void> {
  const view = new DataView(bytes.buffer);
  let next = 0;
  for (let at = 0; at < bytes.length;) {
    const protocol = view.getUint8(at + PROTOCOL);
    if (protocol === OTHER) {
      const source = others[next++];
      at += sizeOf(source.replies);
      yield source;
      continue;
    }
    const latencyMs = view.getFloat64(at + LATENCY, true);
    const start = at + HEAD;
    const end = start + view.getUint32(at + LENGTH, true);
    yield {
      endpoint: {
        address: view.getUint32(at + ADDRESS, true),
        port: view.getUint16(at + PORT, true),
      },
      seenAt: view.getFloat64(at, true),
      latencyMs: Number.isNaN(latencyMs) ? null : latencyMs,
      requestedAs: null,
      isCutShort: false,
      replies: { protocol: protocols[protocol].name, raw: bytes.subarray(start, end) },
    };
    at = end;
  }
}
