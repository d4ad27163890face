/**
 * What commands with `--json` print that is not a row, observation or event: one object per result. The
 * keys are declared here once, for the programs that read them and for the reference.
 *
 * @module
 */
import { jsonText } from "../../sinks/json.ts";
import { print } from "./console.ts";

/** The keys of each object, with their meanings. */
export const JSON_RESULTS = {
  "scan --dry-run": {
    targets: "number of targets: `all`, `public`, `private`, `loopback`",
    excluded: "number of excluded targets: `never_probed`, `private`, `by_option`, `opted_out`",
    srv_records: "SRV records that led from a requested name to a target",
    known_servers: "with `--rescan`: number of `all`, of `interviewed` and of `unprobed` ones",
    permission: "targets for which `--i-have-permission` is needed; `null`: none",
    ports:
      "a list: `protocol`, `ports`, and `interviews`: whether interviews use them instead of passes",
    seed: "the seed of the order; `null`: ascending",
    shard: "`index` and `count`",
    suppression: "passes before the others: `protocol`, `probes`, and the protocol `suppressed`",
    passes: "a list: `transport`, `protocol`, `probes`",
    probes: "most probes over UDP",
    connections: "most connections over TCP",
    concurrency: "most connections and interviews at once",
    verify: "what `--verify` does, a list",
    limits:
      "packets per second: `rate`, `rate_auto` (its highest), `net_rate`, `host_rate`, or `null`",
    engine: "`name`, `threads`, and the `route` of an engine that writes frames",
    limited_by: "the option that limits the speed; `null`: this machine",
    duration_s: "the least duration, seconds",
    outputs: "a list: `path`, `format`",
  },
  "scan --list-targets": {
    host: "address of the target",
    port: "port of the target",
    protocol: "protocol of the probe",
  },
  "fleet": {
    event: "`ready`: all hosts respond",
    hosts: "number of simulated hosts, further ones included",
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
    in_part: "number of rows that lack protocols and are right otherwise",
    faults: "a line for each fault, all of them",
  },
  "import": {
    file: "file that was read",
    servers: "number of servers in the file",
    changed: "number of servers that were new, or newer than what was known",
    ignored_lines: "number of lines that cannot be read",
    first_ignored_line: "number of the first of them; `null`: none",
  },
  "prune": {
    database: "database that was pruned",
    pruned: "number of deleted observations",
  },
} as const;

type Results = typeof JSON_RESULTS;

/** The values of an object. */
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
