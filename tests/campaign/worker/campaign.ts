/** Campaigns of tests on a real NATS server, their workers, and what these publish. */
import { systemNetwork } from "../../../src/app/network/system_network.ts";
import { type LeaseValue, parseLeaseValue } from "../../../src/campaign/lease_value.ts";
import { LEASE_BUCKET, parseResultSubject, RESULTS } from "../../../src/campaign/names.ts";
import { type Broker, connectBroker } from "../../../src/campaign/nats/connection.ts";
import { parsePartEnd, type PartEnd } from "../../../src/campaign/results.ts";
import { formatSpec, specDigest } from "../../../src/campaign/spec.ts";
import { prepareCampaign } from "../../../src/campaign/submit/prepare_campaign.ts";
import { submitCampaign } from "../../../src/campaign/submit/submit.ts";
import { work, type WorkSurroundings } from "../../../src/campaign/worker/work.ts";
import project from "../../../deno.json" with { type: "json" };
import type { Endpoint } from "../../../src/core/address.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { openSocket } from "../../../src/net/deno/udp_socket.ts";
import type { Network } from "../../../src/net/network.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const PROGRAM = project.version;

/** Lines of a program. */
export class Lines {
  readonly all: string[] = [];
  #waiting: (() => void)[] = [];

  add(line: string): void {
    this.all.push(line);
    this.#waiting.forEach((wake) => wake());
    this.#waiting = [];
  }

  /** Resolves when there is a line with a text. */
  async when(text: string): Promise<string> {
    for (;;) {
      const found = this.all.find((line) => line.includes(text));
      if (found !== undefined) return found;
      await this.next();
    }
  }

  /** Resolves when a line is added. */
  next(): Promise<void> {
    return new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/** The context of scans, with lines that are gathered. */
function contextOf(lines: Lines, network: Network) {
  return {
    allProtocols: PROTOCOLS,
    nameOf: (name: string) => `--${name}`,
    program: PROGRAM,
    warn: (line: string) => void lines.add(line),
    note: (line: string) => void lines.add(line),
    network,
  };
}

/** What a test's campaign is. */
export interface CampaignPlan {
  readonly targets: readonly string[];
  /** Options of `campaign submit`. */
  readonly options: Readonly<Record<string, string>>;
  /** The version of the submitter. */
  readonly program?: string;
}

/** Options of scans that are quick on loopback. */
const QUICK = {
  "name": "lab",
  "protocol": "raknet",
  "retries": "0",
  "cooldown": "300ms",
  "seed": "7",
  "ack-wait": "2s",
  "max-running": "16",
  "results-limit": "16M",
};

/** Submits a campaign. Returns the digest of its specification. */
export async function submit(
  broker: Broker,
  { targets: words, options, program = PROGRAM }: CampaignPlan,
): Promise<string> {
  const given = new Map(
    Object.entries({ ...QUICK, ...options }).map(([option, text]) => [option, [text]]),
  );
  const optOuts = { read: () => Promise.resolve([]), note() {} };
  const context = { ...contextOf(new Lines(), testNetwork()), optOuts, program };
  const campaign = await prepareCampaign({ words, given }, context);
  await submitCampaign(broker, campaign, () => {});
  return specDigest(formatSpec(campaign.spec));
}

/** The network of this machine, whose UDP sockets report what they send. Some targets may be blocked. */
export function testNetwork(
  onSend: (datagrams: number, to: Endpoint) => void = () => {},
  isBlocked: (to: Endpoint) => boolean = () => false,
): Network {
  const usual = systemNetwork({ note() {}, report() {}, allProtocols: PROTOCOLS });
  return {
    ...usual,
    openSocket(local, gate) {
      const socket = openSocket(local, undefined, gate);
      const { send } = socket;
      socket.send = async function (datagram, to) {
        // A firewall on the path drops what the machine has sent.
        const sent = isBlocked(to) || await send.call(this, datagram, to);
        if (sent) onSend(1, to);
        return sent;
      };
      return socket;
    },
  };
}

/** A worker that runs. */
export interface StartedWorker {
  readonly lines: Lines;
  /** Ends the work in good order, and waits for its end. */
  readonly stop: () => Promise<void>;
  /** Ends the work at once. */
  readonly kill: () => Promise<void>;
  readonly ended: Promise<void>;
}

/** Starts a worker. */
export function startWorker(
  url: string,
  { slots = 4, network = testNetwork(), options = {}, program = PROGRAM }: {
    readonly slots?: number;
    readonly network?: Network;
    readonly options?: Readonly<Record<string, string>>;
    readonly program?: string;
  } = {},
): StartedWorker {
  const lines = new Lines();
  const [end, abandon] = [new AbortController(), new AbortController()];
  const surroundings: WorkSurroundings = {
    context: { ...contextOf(lines, network), program },
    signal: end.signal,
    abandon: abandon.signal,
  };
  const all = { nats: url, slots: String(slots), ...options };
  const given = new Map(Object.entries(all).map(([name, text]) => [name, [text]]));
  const ended = work({ words: [], given }, surroundings);
  return {
    lines,
    ended,
    stop() {
      end.abort();
      return ended;
    },
    kill() {
      abandon.abort();
      return ended;
    },
  };
}

/** A socket that receives all datagrams to a port of loopback addresses. */
export class Listener implements AsyncDisposable {
  readonly #socket = Deno.listenDatagram({ transport: "udp", hostname: "0.0.0.0", port: 0 });
  readonly #ended: Promise<void>;
  #waiting: (() => void)[] = [];
  /** The sockets that sent each datagram, in order of arrival. */
  readonly senders: number[] = [];

  constructor() {
    this.#ended = this.#run();
  }

  /** The port. */
  get port(): number {
    return (this.#socket.addr as Deno.NetAddr).port;
  }

  async #run(): Promise<void> {
    for await (const [, from] of this.#socket) {
      this.senders.push((from as Deno.NetAddr).port);
      this.#waiting.forEach((wake) => wake());
      this.#waiting = [];
    }
  }

  /** Resolves when a number of datagrams have arrived. */
  async received(count: number): Promise<void> {
    while (this.senders.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#ended;
  }
}

/** Connects to a server. */
export function connect(url: string): Promise<Broker> {
  return connectBroker({ nats: url }, "test");
}

/** Follows the leases until a condition holds. */
export async function whenLeases(
  broker: Broker,
  isReached: (leases: ReadonlyMap<string, LeaseValue>) => boolean,
): Promise<ReadonlyMap<string, LeaseValue>> {
  const leases = new Map<string, LeaseValue>();
  const updates = await (await broker.bucket(LEASE_BUCKET)).watch();
  for await (const entry of updates) {
    if (entry.operation !== "PUT" || !entry.key.startsWith("lease.")) continue;
    leases.set(entry.key, parseLeaseValue(entry.string()));
    if (isReached(leases)) break;
  }
  return leases;
}

/** Whether a number of parts have ended in a state. */
export function inState(state: LeaseValue["state"], count: number) {
  return (leases: ReadonlyMap<string, LeaseValue>): boolean =>
    [...leases.values()].filter((lease) => lease.state === state).length >= count;
}

/** What the workers published. */
export interface Published {
  readonly rows: readonly ServerRecord[];
  readonly ends: readonly { readonly part: number; readonly kind: string; readonly end: PartEnd }[];
}

/** Reads all results. */
export async function readResults({ jsm }: Broker): Promise<Published> {
  const { state: { messages, last_seq } } = await jsm.streams.info(RESULTS);
  const rows: ServerRecord[] = [];
  const ends: { part: number; kind: string; end: PartEnd }[] = [];
  for (let seq = last_seq - messages + 1; seq <= last_seq; seq++) {
    const message = await jsm.streams.getMessage(RESULTS, { seq });
    const { kind, part } = parseResultSubject(message!.subject)!;
    const text = new TextDecoder().decode(message!.data);
    if (kind === "rows") {
      rows.push(...text.trimEnd().split("\n").map((line) => JSON.parse(line)));
    } else ends.push({ part, kind, end: parsePartEnd(text) });
  }
  return { rows, ends };
}
