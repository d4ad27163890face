/**
 * The datagrams of a scan of loopback, from tcpdump, and what is counted in them. A datagram that
 * the system sends on loopback is captured once.
 */
import { udpCounters } from "../shared/processes.ts";

/** Ports of servers. The scanner's own ports are above them. */
export const SERVER_PORTS = { first: 19032, last: 19232 };
const FILTER = `udp portrange ${SERVER_PORTS.first}-${SERVER_PORTS.last}`;
const FILE_HEADER = 24;
const RECORD_HEADER = 16;
const ETHERNET = 14;
/** Maximum wait for datagrams that were sent but not yet captured, milliseconds. */
const MAX_LAG_MS = 10_000;

/** A captured datagram. */
export interface Datagram {
  /** Time, seconds. */
  readonly at: number;
  /** The server's side: its address, and its port. */
  readonly address: number;
  readonly port: number;
  /** Whether the server sent it. */
  readonly isReply: boolean;
  /** Whether the server had replied before: further probes of such servers measure the loss. */
  readonly isRepeated: boolean;
}

/**
 * The period in which datagrams are counted for a limit per second, seconds: the system may delay
 * the first of them.
 */
const SECOND = 0.95;

/**
 * Captures the datagrams of all programs in this network namespace while a function runs.
 *
 * @throws Error when the capture is not complete: the system counted other datagrams.
 */
export async function captured(run: () => Promise<void>): Promise<Datagram[]> {
  const args = ["-i", "lo", "-n", "-s", "64", "-B", "65536", "--immediate-mode", "-U"];
  const child = new Deno.Command("tcpdump", {
    args: [...args, "-w", "-", FILTER],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const records = new Records();
  records.push((await reader.read()).value!); // the header: tcpdump captures
  const printed = new Response(child.stderr).text();
  const ended = (async () => {
    for (let part; !(part = await reader.read()).done;) records.push(part.value);
  })();
  const { OutDatagrams: before } = await udpCounters();
  await run();
  const sent = (await udpCounters()).OutDatagrams - before;
  for (let ms = 0; records.datagrams.length < sent && ms < MAX_LAG_MS; ms += 100) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGINT");
  await ended;
  await child.status;
  const { length } = records.datagrams;
  if (length !== sent) {
    throw new Error(`${length} of ${sent} datagrams were captured: ${await printed}`);
  }
  return records.datagrams;
}

/** Parses a capture file that arrives in parts. */
class Records {
  readonly datagrams: Datagram[] = [];
  readonly #replied = new Set<number>();
  #rest = new Uint8Array(0);
  #skip = FILE_HEADER;

  push(part: Uint8Array): void {
    const bytes = new Uint8Array(this.#rest.length + part.length);
    bytes.set(this.#rest);
    bytes.set(part, this.#rest.length);
    const view = new DataView(bytes.buffer);
    let at = Math.min(this.#skip, bytes.length);
    this.#skip -= at;
    while (at + RECORD_HEADER <= bytes.length) {
      const end = at + RECORD_HEADER + view.getUint32(at + 8, true);
      if (end > bytes.length) break;
      const time = view.getUint32(at, true) + view.getUint32(at + 4, true) / 1e6;
      this.#add(view, at + RECORD_HEADER + ETHERNET, time);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  /** Reads the headers of IPv4 and UDP. */
  #add(view: DataView, ip: number, at: number): void {
    const udp = ip + 4 * (view.getUint8(ip) & 15);
    const [from, to] = [view.getUint16(udp), view.getUint16(udp + 2)];
    const isReply = from >= SERVER_PORTS.first && from <= SERVER_PORTS.last;
    const address = view.getUint32(ip + (isReply ? 12 : 16));
    const port = isReply ? from : to;
    const key = address * 65536 + port;
    this.datagrams.push({ at, address, port, isReply, isRepeated: this.#replied.has(key) });
    if (isReply) this.#replied.add(key);
  }
}

/** How many datagrams a scan had sent when it had found shares of the servers; 0: never. */
export function sentUntil(
  datagrams: readonly Datagram[],
  servers: number,
  shares: readonly number[],
): { readonly until: readonly number[]; readonly sent: number; readonly found: number } {
  const found = new Set<number>();
  const until = shares.map(() => 0);
  let sent = 0;
  for (const { isReply, address, port } of datagrams) {
    if (!isReply) sent++;
    else found.add(address * 65536 + port);
    for (const [i, share] of shares.entries()) {
      if (until[i] === 0 && found.size >= share * servers) until[i] = sent;
    }
  }
  return { until, sent, found: found.size };
}

/** The sent datagrams of each pass: passes are separated by a wait for replies, seconds. */
export function passesOf(datagrams: readonly Datagram[], wait: number): Datagram[][] {
  const passes: Datagram[][] = [];
  let last = -Infinity;
  for (const datagram of datagrams) {
    if (datagram.isReply) continue;
    if (datagram.at - last > wait) passes.push([]);
    passes.at(-1)!.push(datagram);
    last = datagram.at;
  }
  return passes;
}

/** The maximum number of datagrams to one network, whose size is a number of addresses. */
export function mostTo(sent: readonly Datagram[], size: number): number {
  const counts = new Map<number, number>();
  for (const { address } of sent) {
    const net = Math.floor(address / size);
    counts.set(net, (counts.get(net) ?? 0) + 1);
  }
  return counts.values().reduce((most, one) => Math.max(most, one), 0);
}

/** The maximum number of datagrams to one network in any second. */
export function mostPerSecond(sent: readonly Datagram[], size: number): number {
  const times = new Map<number, number[]>();
  let most = 0;
  for (const { at, address } of sent) {
    const net = Math.floor(address / size);
    const recent = (times.get(net) ?? []).filter((time) => time > at - SECOND);
    recent.push(at);
    times.set(net, recent);
    most = Math.max(most, recent.length);
  }
  return most;
}
