/**
 * Finding servers from a program: targets in, rows out, with defaults that disturb nobody.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { InputError } from "../core/errors.ts";
import { systemClock } from "../net/clock.ts";
import { openSocket, USUAL_RECEIVE_BUFFER } from "../net/deno/udp_socket.ts";
import { denoDialer } from "../net/deno/tcp_dialer.ts";
import { PROTOCOLS, usualProtocols } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { usualPorts } from "../protocols/usual_ports.ts";
import type { ServerRecord } from "../core/record.ts";
import type { Sink } from "../sinks/sink.ts";
import { socketsFor } from "../sweep/probe_window.ts";
import { compose } from "../targets/compose.ts";
import { neverRanges, optOutCheck, privateRanges } from "../targets/builtin_lists.ts";
import { RangeBudget } from "../targets/octet_ranges.ts";
import { parseTargets } from "../targets/parse.ts";
import { mildSpeed, permissionNeeded } from "../targets/permission.ts";
import { parsePorts } from "../targets/ports.ts";
import { uuidv7 } from "./scan_id.ts";
import { START } from "./checkpoint/low_water_mark.ts";
import { requirePorts } from "./require_ports.ts";
import { scan } from "./scan.ts";
import { newState } from "./scan_state.ts";

/** How to find servers. */
export interface FindOptions {
  /**
   * Protocols to look for, by name.
   *
   * @default all but sqp, which is asked only when named
   */
  readonly protocols?: readonly string[];
  /** Ports to ask, as `19132,25565-25570`. Default: the usual ones of each protocol. */
  readonly ports?: string;
  /** Addresses and ranges not to ask. */
  readonly exclude?: readonly string[];
  /** Datagrams a second. Default: 1000, and no limit where all targets are loopback. */
  readonly rate?: number;
  /**
   * Servers asked for their status at once.
   *
   * @default 256
   */
  readonly concurrency?: number;
  /**
   * How long to wait for an answer, milliseconds.
   *
   * @default 1500
   */
  readonly timeoutMs?: number;
  /**
   * How often the silent are asked again, 0 to 3.
   *
   * @default 1
   */
  readonly retries?: number;
  /** How long to wait for late answers, milliseconds. Default: 5000, on loopback 1000. */
  readonly cooldownMs?: number;
  /**
   * Whether to find out if RakNet connections to them can be opened.
   *
   * @default false
   */
  readonly verify?: boolean;
  /** You may scan these public addresses, or more than a million of any kind. */
  readonly iHavePermission?: boolean;
  /** Ends it early. */
  readonly signal?: AbortSignal;
}

/**
 * Scans targets and yields a row for each server, as it is found. Leaving the loop ends the scan.
 *
 * Needs `--allow-net`, and `"unstable": ["net"]` in deno.json.
 *
 * @param targets Addresses, prefixes and `first-last` ranges, each perhaps with a `:port`. Names have
 * to be looked up before: `refusedFromName()` says which of their addresses must not be targets.
 * @param allProtocols Every protocol, in order of rank.
 * @throws InputError for targets or options that cannot be used.
 *
 * @example Servers in a range
 * ```ts
 * import { find } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const found: string[] = [];
 * for await (const server of find(["127.99.0.0/30"], { retries: 0, cooldownMs: 10 })) {
 *   found.push(`${server.host}:${server.port} ${server.name}`);
 * }
 * assertEquals(found, []); // nobody is there
 * ```
 */
export async function* find(
  targets: readonly string[],
  options: FindOptions = {},
  allProtocols: readonly Protocol[] = PROTOCOLS,
): AsyncIterableIterator<ServerRecord> {
  const budget = new RangeBudget();
  const all = compose(targets.flatMap((text) => rangesOf(text, budget)), {
    never: neverRanges().map((one) => one.range),
    private: privateRanges().map((one) => one.range),
    chosen: (options.exclude ?? []).flatMap((text) => rangesOf(text, budget)).map(({ range }) =>
      range
    ),
  });
  const needed = permissionNeeded(all);
  if (needed !== undefined && !options.iHavePermission) {
    throw new InputError(`Cannot scan ${needed} without the option iHavePermission`);
  }
  const protocols = options.protocols?.map((name) => protocolNamed(name, allProtocols)) ??
    usualProtocols(allProtocols);
  const mild = mildSpeed(all);
  const ports = options.ports === undefined ? undefined : parsePorts(options.ports);
  const transportOf = (name: string) => protocols.find((one) => one.name === name)!.transport;
  const portsOf = ports === undefined
    ? usualPorts(allProtocols)
    : (name: string) => ports[transportOf(name)];
  requirePorts(all, protocols, portsOf, "name ports with the option ports");
  const concurrency = options.concurrency ?? 256;
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  const local = (bits: 4 | 6): Address => bits === 4 ? 0 : 0n;
  const open = (bits: 4 | 6) => openSocket({ address: local(bits), port: 0 });
  const sockets = socketsFor(concurrency, USUAL_RECEIVE_BUFFER);
  const leaving = new AbortController();
  const { sink, rows } = handOver();
  const running = scan({
    targets: {
      addresses: all,
      names: new Map(),
      protocols,
      allProtocols,
      ports: portsOf,
      optedOut: [],
      answered: [],
    },
    order: { seed: new DataView(random(4).buffer).getUint32(0), from: START },
    limits: {
      rates: { ...mild, rate: options.rate ?? mild.rate },
      capLoopback: false,
      retries: options.retries ?? 1,
      timeoutMs: options.timeoutMs ?? 1500,
      cooldownMs: options.cooldownMs ?? mild.cooldownMs,
      concurrency,
      connections: concurrency,
    },
    interviews: {
      follow: true,
      verify: options.verify,
      optsOut: optOutCheck(),
      players: true,
    },
    io: {
      openSockets: (bits) => Array.from({ length: sockets }, () => open(bits)),
      openSole: open,
      dialer: denoDialer(),
      sinks: [sink],
      clock: systemClock,
      random,
      state: newState(uuidv7(Date.now(), random(10)), performance.now()),
    },
    signal: AbortSignal.any([leaving.signal, ...options.signal ? [options.signal] : []]),
  });
  const ended = running.finally(() => sink[Symbol.asyncDispose]());
  try {
    yield* rows;
    const { error } = await ended;
    if (error !== undefined) throw error;
  } finally {
    leaving.abort();
    await ended;
  }
}

function rangesOf(text: string, budget: RangeBudget) {
  return parseTargets(text, budget).map((target) => {
    if ("range" in target) return { range: target.range, port: target.port };
    throw new InputError(
      `Cannot scan "${text}": look names up first, and check addresses by refusedFromName()`,
    );
  });
}

function protocolNamed(name: string, allProtocols: readonly Protocol[]) {
  const protocol = allProtocols.find((other) => other.name === name);
  if (protocol !== undefined) return protocol;
  throw new InputError(`Cannot look for protocol "${name}": there is none of that name`);
}

/** A sink that hands rows to a loop, one by one: whoever writes waits until they are taken. */
function handOver(): { sink: Sink; rows: AsyncIterable<ServerRecord> } {
  const { readable, writable } = new TransformStream<ServerRecord, ServerRecord>();
  const writer = writable.getWriter();
  let taken = 0;
  const sink: Sink = {
    async write(records) {
      for (const record of records) {
        await writer.write(record);
        taken++;
      }
    },
    flush: () => Promise.resolve(),
    position: () => taken,
    // Who has left the loop cannot be told that it is over.
    [Symbol.asyncDispose]: () => writer.close().catch(() => {}),
  };
  return { sink, rows: readable };
}
