/**
 * Lines on endpoints that replied and were omitted, with a command that scans them again.
 *
 * @module
 */
import { formatAddress, formatEndpoint } from "../../core/address.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { MAX_NAMED, type OmittedEndpoint, type ScanState } from "../../scan/mod.ts";
import type { GivenOptions } from "../../app/options/mod.ts";
import { portList } from "../../targets/ports.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { exclusionNotes, passwordNotes, scanCommand } from "./printed_command.ts";

/** Maximum number of endpoints in a command: a host has 64 holds, and a longer line is hard to copy. */
const MAX_REPEATED = 64;
/** Maximum number of omitted endpoints of a host that shares a command with other hosts. */
const FEW = 4;

/**
 * Options that the command repeats: they permit, protect, limit or route. Of `output`, only databases
 * are repeated, because addresses in them may have opted out.
 */
const REPEATED_OPTIONS: readonly string[] = [
  "exclude",
  "exclude-file",
  "opt-out-file",
  "allow-private",
  "i-have-permission",
  "contact",
  "rate",
  "bandwidth",
  "net-rate",
  "host-rate",
  "concurrency",
  "timeout",
  "retries",
  "cooldown",
  "no-follow",
  "output",
  "down-after",
  "tag",
  "no-players",
  "engine",
  "interface",
  "gateway-mac",
  "source-port",
  "source-ip",
];

/** The options of a scan that the printed command repeats. */
export interface RepeatedScope {
  /** Options as they were given, without secrets. */
  readonly given: GivenOptions["given"];
  /** The databases among its outputs, with the passwords of their URLs. */
  readonly databases: readonly DatabaseLocation[];
  /** Whether the scan has left a checkpoint. */
  readonly isResumable: boolean;
}

/**
 * The lines on omitted endpoints. Hosts with few omitted endpoints come first, because a host that
 * forges replies has many of them, and a host with real servers has few.
 */
export function omittedLines(
  { replies: { omitted }, omittedAt }: Pick<ScanState, "replies" | "omittedAt">,
  scope: RepeatedScope,
): string[] {
  if (omitted === 0) return [];
  const hosts = [...Map.groupBy(omittedAt, ({ endpoint }) => endpoint.address)]
    .sort(([, one], [, other]) => one.length - other.length);
  const named = hosts.slice(0, MAX_NAMED)
    .map(([address, { length }]) => `${formatAddress(address)} (${length})`).join(", ");
  const more = hosts.length > MAX_NAMED ? ", and others" : "";
  const head = `results may be incomplete: ${countOf(omitted, "endpoint")} that replied ` +
    `${omitted === 1 ? "was" : "were"} omitted, because too many replies were unverified`;
  if (named === "") return [`${head}; scan again`]; // a resumed scan has only their number
  const again = chooseEndpoints(hosts.map(([, endpoints]) => endpoints));
  const left = omitted - again.length;
  return [
    `${head}: ${named}${more}`,
    `scan ${
      left === 0 ? omitted === 1 ? "it" : "them" : `${withCommas(again.length)} of them`
    } again with: ` +
    commandFor(again, scope),
    ...exclusionNotes(scope.given),
    ...passwordNotes(scope.databases),
    ...(left === 0 ? [] : [
      `--metadata-file lists omitted endpoints as omitted_at, the first 1,024 at most`,
    ]),
  ];
}

/** The endpoints of one host, or of all hosts with few omitted endpoints. */
function chooseEndpoints(hosts: readonly (readonly OmittedEndpoint[])[]): OmittedEndpoint[] {
  const few = hosts.filter(({ length }) => length <= FEW);
  return (few.length > 0 ? few : hosts.slice(0, 1)).flat().slice(0, MAX_REPEATED);
}

/** The command that scans some endpoints with the limits and permissions of the scan before. */
function commandFor(omitted: readonly OmittedEndpoint[], scope: RepeatedScope): string {
  const protocols = [...new Set(omitted.map(({ protocol }) => protocol))].join(",");
  const [{ endpoint: { address } }] = omitted;
  const isOneHost = omitted.every(({ endpoint }) => endpoint.address === address);
  const targets = isOneHost
    ? [formatAddress(address), "-p", portList(omitted.map(({ endpoint }) => endpoint.port))]
    : omitted.map(({ endpoint }) => formatEndpoint(endpoint));
  const words = [...targets, "--protocol", protocols];
  return scanCommand({ words, given: repeatedOptions(scope) });
}

/** The options that the command repeats. */
function repeatedOptions(
  { given, databases, isResumable }: RepeatedScope,
): GivenOptions["given"] {
  const repeated = new Map([...given].filter(([name]) => REPEATED_OPTIONS.includes(name)));
  repeated.set("output", databases.map(({ path }) => path));
  const [file] = databases.filter(({ postgres }) => postgres === undefined);
  // A new scan replaces the checkpoint beside its first output, which may be that of this scan.
  if (isResumable && file) repeated.set("checkpoint", [`${file.file}.omitted.checkpoint`]);
  return repeated;
}
