/**
 * Prepares a crawl whose options were read: reads its database, and opens it for polls. Nothing is sent.
 *
 * @module
 */
import { type Address, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf, DAY_MS, withCommas } from "../../core/quantities.ts";
import { RecentYield } from "../../discovery/mod.ts";
import { allEndpoints, readStore, withDatabaseErrors } from "../../store/mod.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import { AddressSet } from "../../targets/ranges.ts";
import { privateRanges } from "../../targets/shipped_lists.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import { userPath } from "../environment.ts";
import { type PreparedWatch, prepareWatch } from "../watch/prepare_watch.ts";
import type { PreparedScan } from "../scan/prepare_scan.ts";
import { prepareRound } from "./discovery_scan.ts";
import { crawlPath, readCrawlFile } from "./crawl_file.ts";
import type { CrawlRequest } from "./read_crawl.ts";

/** A crawl that is ready to run. It owns its open database. */
export interface PreparedCrawl extends CrawlRequest, AsyncDisposable {
  /** The polls of the known servers. */
  readonly polls: PreparedWatch;
  /** The targets of discovery; empty: there is none. */
  readonly ranges: readonly string[];
  /** The limits of discovery, which polls share; `undefined`: there is no discovery. */
  readonly limits: PreparedScan["limits"] | undefined;
  /** The path of its checkpoint; `undefined`: it has none. */
  readonly path: string | undefined;
  /** The yield of discovery, which the checkpoint contains. */
  readonly recentYield: RecentYield;
}

/**
 * Reads the database of a crawl, and opens it.
 *
 * @throws InputError for a database or a checkpoint that cannot be used, and for a database in which
 * no server has ever replied; Interrupted if an interruption ends the wait for a locked database.
 */
export async function prepareCrawl(request: CrawlRequest): Promise<PreparedCrawl> {
  const { location, targets, watch } = request;
  const { since, networks } = await readList(request);
  const path = crawlPath(location);
  const file = path === undefined ? undefined : userPath(path);
  const recentYield = new RecentYield(
    file === undefined ? [] : await readCrawlFile(systemDisk, file),
  );
  await using stack = new AsyncDisposableStack();
  const polls = stack.use(await prepareWatch(watch));
  for (const server of polls.servers) {
    const at = since.get(server.identity.key);
    if (at !== undefined) server.onlineSince(at);
  }
  const ranges = targets.length > 0 ? targets : withoutPrivate(networks, request);
  const limits = ranges.length > 0 ? await limitsOf(request, ranges, polls) : undefined;
  noteRate(request, limits);
  const opened = stack.move();
  const dispose = () => opened.disposeAsync();
  return {
    ...request,
    ...{ polls, ranges, limits, path: file, recentYield },
    [Symbol.asyncDispose]: dispose,
  };
}

/** Notes a budget that the rate limit does not allow to use. */
function noteRate(
  { perDay, options: { quiet }, watch: { context: { warn } } }: CrawlRequest,
  limits: PreparedCrawl["limits"],
): void {
  const rate = limits?.rates.rate ?? Infinity;
  const most = rate * DAY_MS / 1000;
  if (quiet || perDay <= most) return;
  warn(
    `blocksweep: a rate of ${withCommas(rate)}/s allows at most ${withCommas(most)} of the ` +
      `${withCommas(perDay)} probes a day`,
  );
}

/** Checks the targets of discovery; returns its limits. */
async function limitsOf(request: CrawlRequest, ranges: readonly string[], polls: PreparedWatch) {
  const { scan } = await prepareRound(request, ranges, polls);
  return scan.limits;
}

/** Reads since when each server is online, and the /24s of the servers. */
async function readList({ location, watch: { context: { warn } } }: CrawlRequest) {
  await using database = await readStore(location, connectionEnvironment(warn));
  const since = new Map<string, number>();
  const networks = new Set<Address>();
  let hasReplied = false;
  await withDatabaseErrors("read", database, async () => {
    for await (
      const { key, endpoint: { address }, protocols, online, ...one } of allEndpoints(database)
    ) {
      hasReplied ||= protocols.length > 0;
      if (online) since.set(key, one.since - database.clockOffsetMs);
      if (typeof address === "number") networks.add(address - address % 256);
    }
  });
  if (!hasReplied) {
    throw new InputError(
      `Cannot crawl ${location.path}: no server in it has ever replied; scan into it first, with ` +
        `scan TARGET... -o ${location.path}`,
    );
  }
  return { since, networks: [...networks] };
}

/**
 * The /24s that discovery may sweep though nobody named them. A row of a database must not lead a sweep
 * into the user's own networks. Notes those that are left out.
 */
function withoutPrivate(
  networks: readonly Address[],
  { options: { quiet }, watch: { context: { warn } } }: CrawlRequest,
): string[] {
  const ownNetworks = new AddressSet(privateRanges().map(({ range }) => range));
  const named = (list: readonly Address[]) => list.map((start) => `${formatAddress(start)}/24`);
  const omitted = named(networks.filter((start) => ownNetworks.has(start)));
  if (omitted.length > 0 && !quiet) {
    warn(
      `blocksweep: discovery leaves out ${
        countOf(omitted.length, "private /24")
      } of the database: ` +
        `name targets to sweep them, for example ${omitted[0]}`,
    );
  }
  return named(networks.filter((start) => !ownNetworks.has(start)));
}
