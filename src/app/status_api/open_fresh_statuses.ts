/**
 * Opens what fresh statuses need: sockets as those of a watch, the opt-outs, and limits.
 *
 * @module
 */
import { type Address, type Endpoint, isLoopback } from "../../core/address.ts";
import { type Network, Throttle } from "../../net/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { usualProtocols } from "../../protocols/list.ts";
import { OptedOutAddresses, seedOf } from "../../scan/mod.ts";
import type { Range } from "../../targets/ranges.ts";
import type { Target } from "../../targets/parse.ts";
import type { WatchRules } from "../../watch/mod.ts";
import { openPollingSockets, type PollingSockets } from "../engines/watch_sockets.ts";
import { MAX_PROBES, ProbeEngine, ProbeRefused } from "../metrics/probe/probe_engine.ts";
import { areLoopback, ForbiddenTarget } from "../metrics/probe/probe_targets.ts";
import { readChangedOptOuts } from "../opt_outs/changed_opt_outs.ts";
import { DEFAULT_SPEED, DEFAULTS } from "../settings/defaults.ts";
import { eventIds, newScanId, randomBytes } from "../system_random.ts";
import { type FreshRequest, FreshStatuses } from "./fresh_statuses.ts";
import { KeyedLimit, limitKey, type LimitRate } from "./keyed_limit.ts";
import { ListedTargets, PublicTargets } from "./public_targets.ts";

/** Limits of the mode `open`. Only requests that no shared status answers count. */
export const OPEN_LIMITS = {
  /** Of a client: its IPv4 address, or its /56 of IPv6. */
  client: { perMinute: 30, burst: 10 },
  /** Of probes of one address, with all its ports. */
  target: { perMinute: 12, burst: 6 },
  /** Of probes of one address for one client: half of them, so that others get some too. */
  targetOfClient: { perMinute: 6, burst: 3 },
  /** Of probes of one /24 of IPv4, or /48 of IPv6. */
  network: { perMinute: 60, burst: 20 },
  /** Of all clients together. */
  all: { perMinute: 600, burst: 50 },
} as const satisfies Readonly<Record<string, LimitRate>>;

/** The limit of a client of the mode `allow`. Only requests that no shared status answers count. */
export const ALLOW_LIMIT = { perMinute: 300, burst: 60 } as const satisfies LimitRate;

/** Maximum number of probes of the mode `open` that are in progress. */
const MAX_OPEN_PROBES = 64;
/**
 * When a probe without a status ends for clients of the mode `open`, milliseconds: later than the probe of a
 * silent server.
 */
export const OFFLINE_MS = 7000;

/** Which servers are probed, and whether answers contain the names of players. */
export interface FreshSettings {
  /** The targets of the mode `allow`; `"public"`: those of the mode `open`. */
  readonly targets: readonly Target[] | "public";
  readonly hasNames: boolean;
  /** Whether allowed names may lead to private addresses though they are not local. */
  readonly allowPrivate: boolean;
  /** Addresses that are never probed. */
  readonly excluded: readonly Range[];
}

/** What probes use besides. */
export interface FreshContext {
  readonly network: Network;
  readonly allProtocols: readonly Protocol[];
  /** Receives a line, for example when a socket fails. */
  readonly report: (line: string) => void;
  /** Whether an address opted out by the database. It rejects if the database cannot be read. */
  readonly isOptedOut: (address: Address) => Promise<boolean>;
}

/** Fresh statuses until they are disposed of. */
export interface OpenFreshStatuses extends AsyncDisposable {
  readonly statuses: FreshStatuses;
}

/**
 * Opens sockets, and reads the opt-out file, which is followed.
 *
 * @throws InputError for the opt-out file, and sockets that cannot be opened; Deno.errors.NotCapable.
 */
export async function openFreshStatuses(
  settings: FreshSettings,
  context: FreshContext,
): Promise<OpenFreshStatuses> {
  const { network, report } = context;
  await using stack = new AsyncDisposableStack();
  const ending = new AbortController();
  const version = await network.optOuts.version?.() ?? "";
  const noted = await network.optOuts.read();
  const optOuts = new OptedOutAddresses([...noted, ...settings.excluded], seedOf(randomBytes));
  const follow = (ranges: readonly Range[]) => optOuts.addRanges(ranges, []);
  stack.use(readChangedOptOuts(network, report, follow, version));
  const scanId = newScanId(network.clock.wall());
  const polling = stack.use(await openPolling(settings, context, scanId, optOuts, ending.signal));
  const listening = polling.sockets.listen();
  stack.defer(async () => {
    ending.abort();
    await listening;
  });
  polling.pool.failed.catch((error: Error) => report(`a probe failed: ${error.message}`));
  const statuses = freshStatuses(settings, context, { scanId, optOuts, polling, ending });
  const opened = stack.move();
  return { statuses, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function openPolling(
  { targets, hasNames }: FreshSettings,
  { network, report, allProtocols }: FreshContext,
  scanId: string,
  optOuts: OptedOutAddresses,
  signal: AbortSignal,
): Promise<PollingSockets> {
  const options = {
    ...{ allProtocols, protocol: undefined, timeout: undefined, concurrency: undefined },
    ...{ retries: DEFAULTS.query.retries, rate: undefined },
  };
  const isPublic = targets === "public";
  const { rate, netRate, hostRate } = DEFAULT_SPEED;
  return openPollingSockets([], options, {
    ...{ network, scanId, signal, report },
    attach: hasNames ? "sample" : "icons",
    optedOut: (address) => optOuts.has(address),
    others: {
      families: [],
      areLoopback: !isPublic && areLoopback(targets),
      atOnce: isPublic ? MAX_OPEN_PROBES : MAX_PROBES,
    },
    mayGrow: true, // names lead to addresses of all families
    ...isPublic && { throttle: new Throttle({ rate, netRate, hostRate }, isLoopback) },
  });
}

/** What is open. */
interface Opened {
  readonly scanId: string;
  readonly optOuts: OptedOutAddresses;
  readonly polling: PollingSockets;
  readonly ending: AbortController;
}

function freshStatuses(
  { targets, allowPrivate }: FreshSettings,
  { network, allProtocols, isOptedOut }: FreshContext,
  { scanId, optOuts, polling, ending: { signal } }: Opened,
): FreshStatuses {
  const { clock } = network;
  const isPublic = targets === "public";
  const permitted = isPublic
    ? new PublicTargets(network)
    : new ListedTargets(targets, { lookups: network, allowPrivate });
  const limits = isPublic ? new OpenLimits(() => clock.now()) : undefined;
  const allowed = new KeyedLimit(ALLOW_LIMIT);
  const engine = new ProbeEngine({
    ...{ targets: permitted, polling, clock, signal },
    rules: rulesOf(scanId, allProtocols),
    optedOut: (address) => optOuts.has(address),
    onOptOut: (address) => {
      if (optOuts.has(address)) return;
      optOuts.add(address);
      network.optOuts.note(address);
    },
    admit: async (endpoint, client) => {
      if (await isOptedOut(endpoint.address)) {
        throw new ForbiddenTarget("Cannot probe: the address opted out");
      }
      limits?.requireTarget(endpoint, client);
    },
    atOnce: isPublic ? MAX_OPEN_PROBES : MAX_PROBES,
  });
  const protocols = protocolsByEdition(allProtocols);
  return new FreshStatuses({
    ...{ engine, targets: permitted, clock, databaseAnswers: !isPublic },
    protocolsOf: (edition) => protocols[edition],
    grant: (client) => limits?.takeClient(client) ?? allowed.take(client, clock.now()),
    ...isPublic && { offlineMs: OFFLINE_MS },
  });
}

/** The rules of servers that nothing polls on a schedule. */
function rulesOf(scanId: string, allProtocols: readonly Protocol[]): WatchRules {
  const { intervalMs, downAfter } = DEFAULTS.watch;
  return { intervalMs, downAfter, scanId, newEventId: eventIds(), allProtocols };
}

/** The protocols of Java servers, to which SRV records lead, with Query beside them, and the others. */
function protocolsByEdition(
  allProtocols: readonly Protocol[],
): Readonly<Record<FreshRequest["edition"], readonly Protocol[]>> {
  const usual = usualProtocols(allProtocols);
  const isOfJava = (one: Protocol) =>
    one.hasServiceRecords === true || one.reportsGamePort === true;
  return {
    java: usual.filter(isOfJava),
    bedrock: usual.filter((one) => !isOfJava(one)),
  };
}

/** The limits of the mode `open`. */
class OpenLimits {
  readonly #client = new KeyedLimit(OPEN_LIMITS.client);
  readonly #target = new KeyedLimit(OPEN_LIMITS.target);
  readonly #targetOfClient = new KeyedLimit(OPEN_LIMITS.targetOfClient);
  readonly #network = new KeyedLimit(OPEN_LIMITS.network);
  readonly #all = new KeyedLimit(OPEN_LIMITS.all);

  constructor(private readonly now: () => number) {}

  /** 0 if a request of a client is granted, else after how many seconds it may try again. */
  takeClient(client: string): number {
    const now = this.now();
    return this.#client.take(client, now) || this.#all.take("", now);
  }

  /** @throws ProbeRefused */
  requireTarget({ address }: Endpoint, client = ""): void {
    const now = this.now();
    const target = limitKey(address, { 4: 32, 6: 64 });
    const waitS = this.#targetOfClient.take(`${client} ${target}`, now) ||
      this.#target.take(target, now) ||
      this.#network.take(limitKey(address, { 4: 24, 6: 48 }), now);
    if (waitS > 0) throw new ProbeRefused(429, "too many probes of this server or network", waitS);
  }
}
