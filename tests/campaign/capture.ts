/** Reads a capture of tcpdump, and measures the rates of its packets. */

/** A packet: a UDP datagram or the first segment of a TCP connection. */
export interface Packet {
  /** When it was sent, Unix milliseconds. */
  readonly at: number;
  readonly source: number;
  readonly destination: number;
  /** The destination port. */
  readonly port: number;
}

/** A capture that runs. */
export interface Capture {
  /** Ends the capture, and reads its packets. */
  readonly end: () => Promise<readonly Packet[]>;
}

/** The filter of tcpdump for what a scan sends to a range: datagrams, and SYN segments. */
const sentTo = (range: string) => `dst net ${range} and (udp or tcp[13] & 0x12 = 2)`;

/** Captures the packets to a range of loopback. Needs root and tcpdump. */
export async function startCapture(range: string): Promise<Capture> {
  const path = await Deno.makeTempFile();
  const args = ["-i", "lo", "-n", "-s", "64", "-B", "65536", "--immediate-mode", "-w", path];
  const child = new Deno.Command("tcpdump", {
    args: [...args, "-Z", "root", sentTo(range)],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes("listening");) {
    const { value, done } = await errors.read();
    if (done) throw new Error(`tcpdump ended: ${text}`);
    text += value;
  }
  return {
    end: async () => {
      child.kill("SIGINT");
      let text = "";
      for (let next; !(next = await errors.read()).done;) text += next.value;
      await child.status;
      if (!/^0 packets dropped by kernel/m.test(text)) throw new Error(`tcpdump: ${text}`);
      const bytes = await Deno.readFile(path);
      await Deno.remove(path);
      return readPackets(bytes);
    },
  };
}

/** Sizes of the file's header, of a packet's header, and of the header of Ethernet. */
const [FILE_HEADER, PACKET_HEADER, ETHERNET] = [24, 16, 14];

function readPackets(bytes: Uint8Array): Packet[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packets: Packet[] = [];
  for (let at = FILE_HEADER; at + PACKET_HEADER <= bytes.length;) {
    const [seconds, microseconds] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
    const ip = at + PACKET_HEADER + ETHERNET;
    const transport = ip + 4 * (bytes[ip] & 15);
    packets.push({
      at: seconds * 1000 + microseconds / 1000,
      source: view.getUint32(ip + 12),
      destination: view.getUint32(ip + 16),
      port: view.getUint16(transport + 2),
    });
    at += PACKET_HEADER + view.getUint32(at + 8, true);
  }
  return packets;
}

/** The most packets in any window of a length, among those with one key. */
export function most(
  packets: readonly Packet[],
  windowMs: number,
  keyOf: (packet: Packet) => number = () => 0,
): number {
  let greatest = 0;
  for (const [, own] of Map.groupBy(packets, keyOf)) {
    for (let first = 0, next = 0; next < own.length; next++) {
      while (own[next].at - own[first].at >= windowMs) first++;
      greatest = Math.max(greatest, next - first + 1);
    }
  }
  return greatest;
}

/** The numbers of packets in each second, as a line of blocks; a full block is the greatest number. */
export function ratePlot(packets: readonly Packet[]): string {
  const [first] = packets;
  if (first === undefined) return "";
  const seconds: number[] = [];
  for (const { at } of packets) {
    const second = Math.floor((at - first.at) / 1000);
    seconds[second] = (seconds[second] ?? 0) + 1;
  }
  const greatest = seconds.reduce((most, one) => Math.max(most, one ?? 0), 0);
  const blocks = " ▁▂▃▄▅▆▇█";
  return Array.from(seconds, (n = 0) => blocks[Math.ceil(n / greatest * (blocks.length - 1))])
    .join("");
}
