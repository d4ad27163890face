// deno-lint-ignore-file no-console
/**
 * Measures what a status takes over each transport: RakNet over UDP, and NetherNet over HTTP, in the
 * clear and with TLS. The servers are simulated, in other processes, on loopback. Then it measures the
 * memory of many connections that wait for a reply.
 *
 *     deno run -A bench/statuses.ts [--statuses 2000] [--rounds 3] [--at-once 32] [--open 10000]
 *
 * `per second` is the median of the rounds, while the simulated servers use the same processors. `CPU µs`
 * is the processor time of this process alone per status, which does not contain the servers' time.
 * `connections` is the number of connections per status: a server with TLS alone gets one without it
 * first. Exits with 1 if a server sends no status. For `--open`, the limit of descriptors has to be
 * higher.
 */
import { cpuUsage } from "node:process";
import { type Endpoint, parseAddress } from "../src/core/address.ts";
import { converse } from "../src/inspect/converse.ts";
import { systemClock } from "../src/net/clock.ts";
import { denoDialer } from "../src/net/deno/tcp_dialer.ts";
import { openSocket } from "../src/net/deno/udp_socket.ts";
import { exclusiveLink } from "../src/net/peer_link.ts";
import type { Link } from "../src/net/socket.ts";
import { STREAM_LIMITS, StreamLink } from "../src/net/stream_link.ts";
import { Throttle } from "../src/net/throttle.ts";
import { nethernetProtocol } from "../src/protocols/nethernet/mod.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { raknetProtocol } from "../src/protocols/raknet/mod.ts";
import { readOptions } from "./shared/options.ts";
import { startFleet, takenBy } from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions(
  "what a status takes over RakNet, HTTP and TLS; memory of connections",
  {
    statuses: "2000",
    rounds: "3",
    "at-once": "32",
    open: "10000",
  },
);
const [statuses, rounds, atOnce, open] = [
  ...[options.statuses, options.rounds, options["at-once"], options.open].map(Number),
];
const SERVERS = 100;
const SIGNAL = new AbortController().signal;
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };

/** A way to request a status. */
interface Way {
  readonly software: string;
  readonly range: string;
  readonly protocol: Protocol;
}

const WAYS: Readonly<Record<string, Way>> = {
  "RakNet": { software: "bds", range: "127.130.0.0/24", protocol: raknetProtocol as Protocol },
  "HTTP": {
    software: "bdsNetherNet",
    range: "127.131.0.0/24",
    protocol: nethernetProtocol as Protocol,
  },
  "HTTP, then TLS": {
    software: "cloudburstTls",
    range: "127.132.0.0/24",
    protocol: nethernetProtocol as Protocol,
  },
};

const dialer = denoDialer();
let connections = 0;

function connection(endpoint: Endpoint): StreamLink {
  return new StreamLink(endpoint, {
    dialer: {
      errors: dialer.errors,
      encrypt: (...args) => dialer.encrypt(...args),
      connect: (...args) => {
        connections++;
        return dialer.connect(...args);
      },
    },
    throttle: new Throttle(FREE),
    clock: systemClock,
    limits: STREAM_LIMITS,
    signal: SIGNAL,
  });
}

function linkTo(endpoint: Endpoint, protocol: Protocol): Link {
  if (protocol.transport === "tcp") return connection(endpoint);
  const socket = openSocket({ address: 0, port: 0 });
  return exclusiveLink(endpoint, socket, new Throttle(FREE), systemClock, SIGNAL);
}

/** Requests one status; throws if there is none. */
async function request(endpoint: Endpoint, protocol: Protocol): Promise<void> {
  await using link = linkTo(endpoint, protocol);
  const exchange = protocol.exchange({ endpoint, nonce: 1n, exclusive: true, lastAttempt: true });
  const outcome = await converse(exchange, link, {
    timeoutMs: 5000,
    resends: 1,
    clock: systemClock,
    signal: SIGNAL,
  });
  if (outcome.kind !== "replied") throw new Error(`no status: ${Deno.inspect(outcome)}`);
}

/** Requests all statuses of a round, a number of them at once. */
async function measure(protocol: Protocol, endpoints: readonly Endpoint[]) {
  connections = 0;
  const [before, begun] = [cpuUsage(), performance.now()];
  let next = 0;
  const client = async () => {
    while (next < statuses) await request(endpoints[next++ % endpoints.length], protocol);
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = cpuUsage(before);
  return { rate: statuses / seconds, cpu: (user + system) / statuses, connections };
}

/** A server that accepts connections and never replies. It prints its port. */
const MUTE = `const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
console.log(listener.addr.port);
const open = [];
for await (const one of listener) open.push(one);`;

/** The memory of this process with many connections that wait for a reply, and without, MiB. */
async function memoryOf(count: number): Promise<readonly [number, number]> {
  const child = new Deno.Command("deno", {
    args: ["eval", MUTE],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  try {
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const port = Number(new TextDecoder().decode(value));
    const peer = { address: 0x7f000001, port };
    const { resident } = (await takenBy(Deno.pid))!;
    const links = Array.from({ length: count }, () => connection(peer));
    const waiting: Promise<unknown>[] = [];
    for (const link of links) {
      if (!await link.send(Uint8Array.of(1))) throw new Error(`no connection: ${link.end}`);
      waiting.push(link.next(Infinity));
    }
    const { resident: then } = (await takenBy(Deno.pid))!;
    for (const link of links) await link[Symbol.asyncDispose]();
    await Promise.all(waiting);
    reader.releaseLock();
    return [resident, then];
  } finally {
    child.kill("SIGTERM");
    await child.stdout.cancel();
    await child.status;
  }
}

const folder = await Deno.makeTempDir({ prefix: "blocksweep-statuses-" });
try {
  await using fleets = new AsyncDisposableStack();
  const places = new Map<string, Endpoint[]>();
  for (const [name, { software, range }] of Object.entries(WAYS)) {
    const fleet = await startFleet({ servers: SERVERS, software, range, tcp: true, folder });
    fleets.use(fleet);
    places.set(
      name,
      fleet.entries.map(({ host, port }) => ({ address: parseAddress(host)!, port })),
    );
  }
  const run = (name: string) => measure(WAYS[name].protocol, places.get(name)!);
  for (const name of Object.keys(WAYS)) await run(name); // loads and compiles the code
  const runs = await inTurns(Object.keys(WAYS), rounds, run);
  console.log(table(
    ["way", "per second", "CPU µs", "connections"],
    [...runs].map(([name, all]) => [
      name,
      median(all.map(({ rate }) => rate)),
      median(all.map(({ cpu }) => cpu)),
      median(all.map(({ connections }) => connections)) / statuses,
    ]),
  ));
} finally {
  await Deno.remove(folder, { recursive: true });
}
const [without, withAll] = await memoryOf(open);
console.log(table(
  ["open connections", "MiB", "KiB each"],
  [[0, without, 0], [open, withAll, 1024 * (withAll - without) / open]],
));
