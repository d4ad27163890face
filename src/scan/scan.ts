/**
 * A scan: sweep, inspect, write.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey, family, isLoopback } from "../address.ts";
import { inspect } from "../inspect/inspect.ts";
import { mergeAnswers } from "../inspect/merge.ts";
import { Pool } from "../inspect/pool.ts";
import { Switchboard } from "../net/switchboard.ts";
import { Throttle } from "../net/throttle.ts";
import type { Sighting } from "../record.ts";
import { type ProbeKind, Receiver } from "../sweep/receiver.ts";
import { Responders } from "../sweep/responders.ts";
import { planPasses, spaceOf, sweep } from "../sweep/sweep.ts";
import { Tokens } from "../sweep/token.ts";
import { Window } from "../sweep/window.ts";
import { AddressSet } from "../targets/address_set.ts";
import { segmentsOf } from "../targets/compose.ts";
import { Aliases } from "./aliases.ts";
import { Guard, kindsOf } from "./guard.ts";
import type { ScanEnd, ScanOptions } from "./options.ts";
import { withoutPlayers } from "./players.ts";
import { RowQueue } from "./rows.ts";
import { Stop } from "./stop.ts";
import { TcpSweep } from "./tcp.ts";

/** Inspections that may wait before the sweep does. */
const MOST_WAITING = 4096;

/** Runs a scan. */
export async function scan(options: ScanOptions): Promise<ScanEnd> {
  const { clock, state } = options;
  const stop = new Stop(options.signal, clock, options.maxRuntimeMs);
  const throttle = new Throttle(
    options.limits,
    options.capLoopback ? undefined : isLoopback,
  );
  const families = [4, 6].filter((bits) =>
    options.targets.groups.some(({ addresses: [first] }) => family(first.start) === bits)
  ) as (4 | 6)[];
  const sockets = families.flatMap((bits) => options.openSockets(bits));
  await using board = new Switchboard(sockets, throttle, clock);
  const rows = new RowQueue(options.sinks, clock, (error) => stop.fail(error));
  const run = new Run(options, board, throttle, rows, stop);
  stop.hard.addEventListener("abort", () => board.hangUp(), { once: true });
  board.listen((datagram, from, socket) => run.receiver.receive(datagram, from, socket))
    .catch((error) => stop.fail(error));
  const sweepOptions = run.sweepOptions();
  const probes = async () => {
    const sweeping = {
      ...options,
      ...sweepOptions,
      sockets,
      throttle,
      signal: stop.soft,
      limit: options.maxTargets,
    };
    await run.guard.look(
      (looking) => sweep({ ...sweeping, ...looking }),
      (_, size) => run.begin(0, size, 0),
    );
    return await sweep(sweeping);
  };
  const orStop = async <T>(work: () => Promise<T>, instead: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      stop.fail(error as Error);
      return instead;
    }
  };
  const [mark, tcpMark] = await Promise.all([
    sweepOptions.passes.length === 0 ? options.from : orStop(probes, options.from),
    orStop(() => run.tcp.run(run.guard.gapMs), run.tcp.from),
  ]);
  await run.pool.idle();
  await rows.idle();
  stop.end();
  run.count();
  state.ended = stop.reason ?? "done";
  return { reason: state.ended, mark, tcpMark, error: stop.error };
}

/** The moving parts of one scan. */
class Run {
  readonly pool: Pool;
  readonly receiver: Receiver;
  readonly guard: Guard;
  readonly tcp: TcpSweep;
  readonly #responders = new Responders();
  readonly #aliases = new Aliases();
  /** Those that opted out before, and in this scan. */
  readonly #onceOptedOut: AddressSet;
  readonly #optedOut = new Set<Address>();
  /** Endpoints that are being asked: the sweep does not speak into a conversation. */
  readonly #asked = new Set<number | bigint>();
  readonly #tokens: Tokens;
  readonly #window: Window;
  readonly #kinds: readonly ProbeKind[];
  #accepted = 0;

  constructor(
    private readonly options: ScanOptions,
    private readonly board: Switchboard,
    throttle: Throttle,
    private readonly rows: RowQueue,
    private readonly stop: Stop,
  ) {
    const { concurrency, random, clock, state, targets, answered } = options;
    this.pool = new Pool(concurrency, (error) => stop.fail(error));
    this.#tokens = new Tokens(random(8));
    this.#window = new Window(board.sockets.length);
    this.#kinds = kindsOf(options.protocols);
    this.guard = new Guard(options);
    for (const endpoint of answered) this.#responders.add(endpoint);
    this.#onceOptedOut = new AddressSet(options.optedOut);
    const all = new AddressSet(targets.groups.flatMap(({ addresses }) => [...addresses]));
    this.receiver = new Receiver({
      kinds: this.guard.kinds,
      tokens: this.#tokens,
      isTarget: ({ address }) => all.has(address) && !this.#isOptedOut(address),
      responders: this.#responders,
      clock,
      counts: state.replies,
      onSpeaker: (protocol, endpoint, proven) => this.guard.note(protocol, endpoint, proven),
      onSighting: (sighting) => {
        this.#window.answered(sighting.latencyMs, clock.now());
        this.#sight(sighting);
      },
    });
    this.tcp = new TcpSweep(options, {
      throttle,
      stop,
      nonce: () => this.#nonce(),
      skip: (target) => this.#skip(target),
      backlogged: () => this.#backlogged(),
      onSighting: (sighting) => {
        if (this.#responders.add(sighting.endpoint)) this.#sight(sighting);
        else state.replies.repeated++;
      },
      onProgress: () => this.count(),
    });
  }

  #nonce(): bigint {
    return new DataView(this.options.random(8).buffer).getBigUint64(0) >> 1n;
  }

  #skip(target: Endpoint): boolean {
    return this.#responders.has(target) || this.#isOptedOut(target.address) ||
      this.#asked.has(endpointKey(target));
  }

  #backlogged(): boolean {
    return this.pool.load > MOST_WAITING || this.stop.hard.aborted;
  }

  sweepOptions() {
    const { options } = this;
    const { state, protocols, targets, ports } = options;
    const segments = new Map(protocols.map(({ name }) => [
      name,
      segmentsOf(targets, (bits) => ports(name, bits)),
    ]));
    const passes = planPasses(this.#kinds, options.retries, (name) => segments.get(name)!);
    state.passes = passes.length;
    const sizing = { ...options, limit: options.maxTargets };
    const sizes = passes.map((pass, i) => spaceOf(pass, i + 1, sizing).size);
    state.total = sizes.reduce((sum, size) => sum + size, this.guard.positions);
    const behind = sizes.slice(0, options.from.pass - 1).reduce((sum, size) => sum + size, 0);
    state.visited = behind + options.from.position;
    return {
      passes,
      tokens: this.#tokens,
      window: this.#window,
      gapMs: this.guard.gapMs,
      skip: (target: Endpoint, protocol: string) =>
        this.guard.spares(target, protocol) || this.#skip(target),
      backlogged: () => this.#backlogged(),
      onProgress: (
        { visited, sent, refused }: { visited: number; sent: number; refused: number },
      ) => {
        state.position += visited;
        state.visited += visited;
        state.sent += sent;
        state.refused += refused;
        this.count();
      },
      onPass: (pass: number, size: number) =>
        this.begin(pass, size, pass === options.from.pass ? options.from.position : 0),
    };
  }

  /** Notes that a pass begins. */
  begin(pass: number, size: number, position: number): void {
    const { state, clock, onPass } = this.options;
    if (size > 0) state.firstProbeAt ??= clock.wall();
    Object.assign(state, { pass, size, position });
    onPass?.("udp");
  }

  #isOptedOut(address: Address): boolean {
    return this.#optedOut.has(address) || this.#onceOptedOut.has(address);
  }

  /** Brings the numbers up to date that others count. */
  count(): void {
    const { state } = this.options;
    state.inspecting = this.pool.load;
    state.written = this.rows.written;
    state.lost = this.rows.lost;
    state.lastRowAt = this.rows.lastAt;
  }

  #sight(sighting: Sighting): void {
    const key = endpointKey(sighting.endpoint);
    this.#asked.add(key);
    this.pool.add(sighting.endpoint.address, async () => {
      try {
        await this.#inspect(sighting);
      } finally {
        this.#asked.delete(key);
      }
    });
  }

  async #inspect(sighting: Sighting): Promise<void> {
    const { options, board, stop } = this;
    const { state, clock } = options;
    if (stop.reason === "failed") this.rows.lost++;
    if (stop.reason === "failed" || stop.reason === "max-results") return;
    const { endpoint } = sighting;
    if (this.guard.spares(endpoint, sighting.protocol)) return;
    const result = await inspect(sighting, {
      ...options,
      protocols: options.protocols.filter(({ name }) => !this.guard.spares(endpoint, name)),
      signal: stop.hard,
      link: (peer, socket) => board.link(peer, board.socketFor(peer, socket)),
      soleLink: (peer) => board.soleLink(peer, options.openSole(family(peer.address))),
      streamLink: (peer, name, latencyMs) => this.tcp.link(peer, name, latencyMs),
      nameOf: ({ address }) => options.names.get(address),
      nonce: () => this.#nonce(),
      stop: ({ statement }) => options.optsOut(statement.columns.motd ?? ""),
    });
    if (result.answers.length === 0) {
      if (result.failure === "cancelled") return;
      state.replies[result.failure === "malformed" ? "malformed" : "forged"]++;
      return;
    }
    if (!sighting.verified && !this.#responders.add(endpoint)) return;
    if (result.stopped) {
      state.optedOut++;
      this.#optedOut.add(endpoint.address);
      options.onOptOut(endpoint.address);
      return;
    }
    if (result.failure !== undefined) state.fellSilent++;
    if (this.#accepted >= options.maxResults) return;
    if (++this.#accepted >= options.maxResults) stop.stop("max-results");
    const record = mergeAnswers(result.answers, {
      endpoint,
      latencyMs: result.latencyMs,
      seenAt: Math.round(clock.wall() - (clock.now() - sighting.at)),
      scanId: state.scanId,
      requestedAs: options.names.get(endpoint.address) ?? null,
    });
    if (result.cut) record.flags = [...record.flags, "cutShort"].sort();
    record.alias_of = this.#aliases.of(record, endpoint);
    if (record.alias_of !== null) state.aliases++;
    await this.rows.push(options.players ? record : withoutPlayers(record));
  }
}
