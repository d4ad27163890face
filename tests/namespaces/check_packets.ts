// deno-lint-ignore-file no-console
/**
 * Compares a capture of sent packets with the packets of a document:
 *
 *     deno run --allow-read check_packets.ts CAPTURE DOCUMENT
 *
 * Prints payloads that the document lacks, and packets of the document that were not sent. Exits with 1
 * if there are any.
 */

/** A packet of the document: a block whose first line is its name, transport and sizes. */
interface Described {
  readonly name: string;
  readonly transport: string;
  /** The sizes of the payload; empty: any size. */
  readonly sizes: readonly number[];
  readonly bytes: RegExp;
}

/** A captured payload, hexadecimal. */
interface Payload {
  readonly transport: string;
  readonly hex: string;
  readonly port: number;
}

const BLOCK = /^```packet\n([^\n]+?): (UDP|TCP)(?:, ([\d or]+) bytes)?\n(.*?)^```$/gms;

/** Reads the packets of a document. */
function readDescribed(text: string): Described[] {
  return [...text.matchAll(BLOCK)].map(([, name, transport, sizes, lines]) => {
    const tokens = lines.trim().split("\n").flatMap((line) => line.split(/ {2,}/)[0].split(" "));
    return {
      name,
      transport,
      sizes: sizes?.split(" or ").map(Number) ?? [],
      bytes: new RegExp(`^${tokens.map(patternOf).join("")}$`),
    };
  });
}

function patternOf(token: string): string {
  if (!/^([0-9a-f.]{2})\*?$/.test(token)) throw new TypeError(`Not a byte: "${token}"`);
  return `(?:${token.slice(0, 2)})${token.slice(2)}`;
}

/** Reads the payloads of a capture of Ethernet frames. */
function readPayloads(bytes: Uint8Array): Payload[] {
  const view = new DataView(bytes.buffer);
  const payloads: Payload[] = [];
  for (let at = 24; at < bytes.length;) {
    const size = view.getUint32(at + 8, true);
    const frame = bytes.subarray(at + 16, at + 16 + size);
    payloads.push(...payloadOf(frame));
    at += 16 + size;
  }
  return payloads;
}

/** The payload of a frame; none if it is only a TCP segment without data. */
function payloadOf(frame: Uint8Array): Payload[] {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const isV6 = view.getUint16(12) === 0x86dd;
  const isUdp = frame[isV6 ? 20 : 23] === 17;
  const start = 14 + (isV6 ? 40 : 4 * (frame[14] & 15));
  const end = 14 + (isV6 ? 40 + view.getUint16(18) : view.getUint16(16));
  const header = isUdp ? 8 : 4 * (frame[start + 12] >> 4);
  const hex = frame.subarray(start + header, end).toHex();
  const transport = isUdp ? "UDP" : "TCP";
  return hex === "" && !isUdp ? [] : [{ transport, hex, port: view.getUint16(start + 2) }];
}

function isPacket({ transport, sizes, bytes }: Described, payload: Payload): boolean {
  const size = payload.hex.length / 2;
  return transport === payload.transport && bytes.test(payload.hex) &&
    (sizes.length === 0 || sizes.includes(size));
}

const [capture, document] = Deno.args;
const described = readDescribed(await Deno.readTextFile(document));
const payloads = readPayloads(await Deno.readFile(capture));
let faults = 0;
const fault = (line: string) => {
  if (++faults <= 20) console.log(`  ${line}`);
};
for (const payload of payloads) {
  const { transport, hex, port } = payload;
  if (described.some((packet) => isPacket(packet, payload))) continue;
  fault(`not in the document: ${transport} ${port}, ${hex.length / 2} bytes, ${hex.slice(0, 200)}`);
}
for (const packet of described) {
  const seen = payloads.filter((payload) => isPacket(packet, payload));
  console.log(`${String(seen.length).padStart(5)} ${packet.name}`);
  if (seen.length === 0) fault(`not sent: ${packet.name}`);
  for (const size of packet.sizes) {
    if (!seen.some(({ hex }) => hex.length === 2 * size)) {
      fault(`not sent: ${packet.name} of ${size} bytes`);
    }
  }
}
console.log(
  `${payloads.length} payloads, ${described.length} packets in the document, ${faults} faults`,
);
Deno.exit(faults > 0 || payloads.length === 0 || described.length === 0 ? 1 : 0);
