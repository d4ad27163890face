/**
 * The options of a watch from a program.
 *
 * @module
 */
import type { ScanOrWatchOptions } from "./common_options.ts";

/** Options of a watch. They have the names and defaults of the options of `blocksweep watch`. */
export interface WatchOptions extends ScanOrWatchOptions {
  /** Interval between two polls of a server, milliseconds, at least 5000. Default: 60,000. */
  readonly intervalMs?: number;
  /**
   * Number of successive polls without a reply after which a server counts as offline, 1 to 100.
   * Default: 3.
   */
  readonly downAfter?: number;
  /** Tags that servers which reply get in databases, each of 1 to 64 characters. Default: none. */
  readonly tag?: readonly string[];
  /**
   * Whether servers that have been offline for long are polled less often, at least once an hour.
   * Default: no.
   */
  readonly backoff?: boolean;
  /**
   * Number of repetitions of an exchange without a reply, 0 to 3.
   *
   * @default 2
   */
  readonly retries?: number;
  /** Packets per second. Default: 1000, or no limit if all servers are on loopback. */
  readonly rate?: number;
  /** Maximum number of concurrent polls. Default: 256, or more if the interval requires more. */
  readonly concurrency?: number;
  /** Whether records, events and databases contain names of players. Default: no. */
  readonly names?: boolean;
  /**
   * Databases (.db, postgres:) to which results are written, besides those that are watched. Default:
   * none.
   */
  readonly output?: readonly string[];
  /** Whether metrics describe the name, edition, software and version of servers. Default: no. */
  readonly metricsInfo?: boolean;
  /** Whether clients of `metrics` may have a server probed by `/probe?target=HOST:PORT`. Default: no. */
  readonly probe?: boolean;
  /** Addresses, ranges and names that clients may have probed, besides the watched servers. */
  readonly probeAllow?: readonly string[];
  /**
   * The file with the token that clients of `/probe` have to send. It is needed if `metrics` is not on
   * loopback.
   */
  readonly probeTokenFile?: string;
  /** The URL to which events are sent; `@FILE` or `env:NAME` contains the URL. Default: none. */
  readonly webhook?: string;
  /** Format of the webhook's requests: `json`, `discord` or another one of the command. Default: `json`. */
  readonly webhookFormat?: string;
  /** Kinds of events that the webhook gets. Default: all. */
  readonly webhookEvents?: readonly string[];
  /** The file with the message, or the JSON document, for each event of the webhook. */
  readonly webhookTemplate?: string;
  /** Headers of the webhook's requests, with their values in `NAME=@FILE` or `NAME=env:VARIABLE`. */
  readonly webhookHeader?: readonly string[];
  /** The key that signs the webhook's requests, in `@FILE` or `env:NAME` (HMAC-SHA-256). */
  readonly webhookSecret?: string;
  /**
   * The file of events that are in no database and wait for the webhook. Default: beside the first
   * database.
   */
  readonly webhookOutbox?: string;
}
