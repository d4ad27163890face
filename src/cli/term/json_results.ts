/**
 * The JSON objects that commands with `--json` print, except rows, observations and events: one
 * object per result. The keys are declared here once, for the commands that print them and for the
 * reference.
 *
 * @module
 */
import { jsonText } from "../../sinks/json.ts";
import { print } from "./console.ts";

/** The keys of each object, with their meanings. */
export const JSON_RESULTS = {
  "scan --dry-run": {
    targets: "number of targets: `all`, `public`, `private`, `loopback`",
    excluded: "number of excluded targets of all shards: `never_probed`, `private`, `by_option`, " +
      "`opted_out`",
    srv_records: "SRV records that led from a requested name to a target",
    known_servers:
      "with `--rescan`: numbers of servers: `all` in the database; `interviewed` without " +
      "a probe of the sweep; `unprobed`: not probed",
    permission: "targets for which `--i-have-permission` is needed; `null`: none",
    ports:
      "a list: `protocol`, its `ports`, and `interviews`: whether only interviews use these ports",
    seed: "the seed of the order; `null`: ascending",
    shard: "`index` and `count`",
    suppression: "passes that come first: `protocol`, `probes`, and the protocol that is " +
      "`suppressed` at endpoints that reply to them",
    passes: "a list: `transport`, `protocol`, `probes`",
    probes: "maximum number of probes over UDP",
    tcp_probes: "maximum number of probes over TCP: one SYN packet each",
    concurrency: "maximum number of simultaneous interviews",
    verify: "a list of texts: what `--verify` does",
    limits: "packets per second: `rate`, `rate_auto` (the maximum of `--rate auto`), `net_rate`, " +
      "`host_rate`; `null`: no limit",
    engine: "`name`, `threads`, and the `route` of an engine that writes frames",
    limited_by: "the option that limits the speed; `null`: this machine",
    duration_s: "minimum duration, seconds; with `--adaptive`: until the budget is spent",
    outputs: "a list: `path`, `format`",
  },
  "scan --dry-run --adaptive": {
    adaptive:
      "besides those of `scan --dry-run`: `budget`, probes; `even_sweep`: one probe for each " +
      "address; `endpoints` that may be probed; `known` servers; number of `passes`; " +
      "`max_per_network`, probes to a /24; `stop_below`, servers per million probes; `memory_bytes` of the " +
      "counters before the first pass; `small`: " +
      "whether there are too few addresses to gain anything below 10%",
  },
  "campaign submit --dry-run": {
    name: "the name of the campaign",
    targets: "number of targets: `all`, `public`, `private`, `loopback`",
    excluded: "number of excluded targets: `never_probed`, `private`, `by_option`, `opted_out`",
    srv_records: "SRV records that led from a requested name to a target",
    permission: "targets for which `--i-have-permission` is needed; `null`: none",
    ports: "a list: `protocol`, and its `ports`",
    seed: "the seed of the order; `null`: ascending",
    parts: "number of parts",
    networks: "number of networks with targets: /24, and /48 of IPv6",
    max_running: "maximum number of parts that are scanned at the same time",
    views: "number of views of each part; other numbers except `duration_s` are those of one view",
    first_part: "the first part: maximum number of `probes` and of `tcp_probes`, and its minimum " +
      "duration at its share of the rate, `duration_s`",
    passes: "a list: `transport`, `protocol`, `probes`",
    probes: "maximum number of probes over UDP",
    tcp_probes: "maximum number of probes over TCP: one SYN packet each",
    verify: "a list of texts: what `--verify` does",
    limits: "packets per second of all workers together, as in `scan --dry-run`",
    bits_per_second: "maximum bits per second on Ethernet, of all workers; `null`: no limit",
    duration_s: "minimum duration, seconds",
  },
  "campaign list": {
    name: "the name of the campaign",
    state: "as in `campaign status`",
    parts: "number of parts",
    program: "version of the program, which workers need too",
    submitted_at: "when it was submitted, Unix milliseconds",
  },
  "campaign status": {
    name: "the name of the campaign",
    state: "`running`, `paused`, `cancelled`; `finished`: each part is done; `ended`: the others " +
      "are poisoned",
    submitted_at: "when it was submitted, Unix milliseconds",
    parts:
      "number of parts: `waiting`, `held` by a worker, `lost`: held by a worker that has not " +
      "reported for `--ack-wait`, `done`, `poisoned`, `cancelled`",
    sent: "number of packets sent",
    replies: "number of replies to them",
    found: "number of servers found",
    share:
      "share of the positions that were visited, 0 to 1; parts that no worker has begun count " +
      "as large as the others",
    rate:
      "packets per second: as the workers of held parts report, and at least those of parts that " +
      "were done within the last minute",
    budget: "maximum packets per second of all workers; `null`: no limit",
    ends_at: "estimated end, Unix milliseconds; `null`: unknown",
    running_parts: "a list: `part`, its `worker`, `tries`, `updated_at` (Unix milliseconds), " +
      "`position` of `total`, `rate`, and `why` the last try failed (`null`: it did not)",
    lost_parts: "a list of parts of workers that no longer report, with the same keys",
    failed_parts: "a list of parts that wait after a failed try, with the same keys",
    poisoned_parts: "a list of parts that failed too often, with the same keys",
    views:
      "the number of views of `each` part, of those of all parts that are `done`, the names of the " +
      "`vantages`, and the number of parts that are `waiting` for another one; `null`: one view each",
    workers: "a list of workers that scan its parts: `id`, `vantage`, `slots`, `engine`, " +
      "`program`, `updated_at`",
    results: "results of all campaigns in NATS: `messages`, `bytes`, their `limit`, `is_full`",
    collectors: "a list: `name`, messages that are `pending`, and `unacknowledged`, and whether " +
      "it requests messages: `is_waiting`",
  },
  "scan --list-targets": {
    host: "address of the target",
    port: "port of the target",
    protocol: "protocol of the probe",
  },
  "diff": {
    difference: "`new`, `back`, `lost` or `changed`; of the first object: `summary`",
    server:
      "the server's key: name or address, and port; `null` in the first object, as the keys below",
    name: "its name",
    software: "its software",
    version: "its game version",
    changes:
      "lists of an old and a new value, by column; `null`: they are not stored, because events " +
      "were removed or there were too many",
    summary: "`from` and `to`: what was compared; `new`, `back`, `lost`, `changed`, `unchanged`: " +
      "numbers of servers; `lost_by_packet_loss`: expected number of lost servers because of packet " +
      "loss (`null`: unknown); `not_asked`: servers that one side did not ask; `null` in other objects",
  },
  "fleet": {
    event: "`ready`: all hosts respond",
    hosts: "number of simulated hosts, including hostile and opted-out ones",
    servers: "number of servers",
    range: "addresses of the hosts",
    seed: "the seed of the hosts",
    manifest: "file with the expected rows; `null`: none",
  },
  "fleet (at its end)": {
    event: "`ended`",
    datagrams_received: "number of received datagrams",
    datagrams_sent: "number of sent datagrams",
    connections_accepted: "number of accepted connections",
  },
  "fleet --check": {
    file: "file with the rows of a scan",
    servers: "number of servers that the scan had to find",
    found: "number of servers that it found",
    right: "number of rows that are right in every field",
    in_part: "number of rows that lack some protocols and have no wrong field",
    faults: "a list of texts, one for each fault",
  },
  "import": {
    file: "file that was read",
    servers: "number of servers in the file",
    changed: "number of servers that were new, or newer than their row in the database",
    ignored_lines: "number of lines that cannot be read",
    first_ignored_line: "line number of the first line that cannot be read; `null`: none",
    ignored_hosts: "number of lines with a host without a port, or with a name without an address",
    ignored_columns: "a list of the columns of tables that are not imported",
    ignored_tags: "number of texts in a column of tags that cannot be tags",
  },
  "copy": {
    table: "table that was copied",
    rows: "number of rows of the source",
    left_out:
      "number of rows of the source that do not fit the current schema; `rows` does not count them",
    copied: "number of rows in the target",
    digest: "hash of the rows of the source",
    copied_digest: "hash of the rows in the target",
    equal: "whether the rows of source and target are equal",
  },
  "forget": {
    server: "key of the server",
    in_database: "whether the database had the server",
    observations: "number of its observations",
  },
  "opt-out list": {
    range: "range or host name that opted out",
    date: "date of the opt-out in UTC; `null`: unknown",
    from: "who wants it; `null`: unknown",
    why: "the reason",
  },
  "prune": {
    database: "database that was pruned",
    observations: "number of deleted observations; `null`: all are kept",
    events: "number of deleted events; `null`: all are kept",
    replies: "number of deleted replies; `null`: all are kept",
    players: "number of servers whose players' names were deleted; `null`: all are kept",
    icons: "number of deleted icons, which no server had",
  },
} as const;

type Results = typeof JSON_RESULTS;

export type JsonResult<Name extends keyof Results> = {
  readonly [Key in keyof Results[Name]]: unknown;
};

/** An object as one line of JSON. */
export function resultLine<Name extends keyof Results>(_: Name, values: JsonResult<Name>): string {
  return jsonText(values);
}

/** Prints an object as one line of JSON. */
export async function printResult<Name extends keyof Results>(
  name: Name,
  values: JsonResult<Name>,
): Promise<void> {
  await print(resultLine(name, values));
}
