/**
 * Endpoints that replied and were omitted: which ones, and how to scan them again.
 *
 * @module
 */
import { formatAddress, formatEndpoint } from "../../core/address.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { MOST_NAMED, type OmittedEndpoint, type ScanState } from "../../scan/scan_state.ts";
import { portList } from "../../targets/ports.ts";
import { quoteWord } from "../../app/environment.ts";
import type { GivenOptions } from "../../app/settings/given_options.ts";
import { optionsOf } from "../options/option_table.ts";
import { dashed } from "../options/option.ts";
import { programName } from "./console.ts";

/** Endpoints that a command names: a host has 64 holds, and a longer line is hard to copy. */
const MOST_AGAIN = 64;
/** A host with so few omitted endpoints is probably no flooder, and shares a command with others. */
const FEW = 4;

/** Options of a scan that permit, protect or route, and so hold for a scan of the same hosts. */
export const REPEATED_OPTIONS: readonly string[] = [
  "exclude",
  "exclude-file",
  "opt-out-file",
  "allow-private",
  "i-have-permission",
  "rate",
  "bandwidth",
  "net-rate",
  "host-rate",
  "timeout",
  "retries",
  "no-players",
  "engine",
  "interface",
  "gateway-mac",
  "source-port",
  "source-ip",
];

/**
 * The lines on omitted endpoints. Hosts with the fewest of them come first: a host that replies in
 * the name of many endpoints has many, an honest one beside it few.
 *
 * @param given The options of the scan, of which the printed command repeats some.
 */
export function omittedLines(
  { replies: { omitted }, omittedAt }: Pick<ScanState, "replies" | "omittedAt">,
  given: GivenOptions["given"],
): string[] {
  if (omitted === 0) return [];
  const hosts = [...Map.groupBy(omittedAt, ({ endpoint }) => endpoint.address)]
    .sort(([, one], [, other]) => one.length - other.length);
  const named = hosts.slice(0, MOST_NAMED)
    .map(([address, { length }]) => `${formatAddress(address)} (${length})`).join(", ");
  const more = hosts.length > MOST_NAMED ? ", and others" : "";
  const head = `results may be incomplete: ${countOf(omitted, "endpoint")} that replied ` +
    `${omitted === 1 ? "was" : "were"} omitted, because too many replies were unverified`;
  if (named === "") return [`${head}; scan again`]; // a resumed scan knows only how many
  const again = chooseEndpoints(hosts.map(([, endpoints]) => endpoints));
  const left = omitted - again.length;
  return [
    `${head}: ${named}${more}`,
    `scan ${left === 0 ? "them" : `${withCommas(again.length)} of them`} again with: ` +
    scanCommand(again, given),
    ...(left === 0 ? [] : [
      `--metadata-file lists omitted endpoints as omitted_at, the first 1,024 at most`,
    ]),
  ];
}

/** Those of one host, or of all hosts that have few. */
function chooseEndpoints(hosts: readonly (readonly OmittedEndpoint[])[]): OmittedEndpoint[] {
  const few = hosts.filter(({ length }) => length <= FEW);
  return (few.length > 0 ? few : hosts.slice(0, 1)).flat().slice(0, MOST_AGAIN);
}

/** The command that scans some endpoints with the limits and permissions of the scan before. */
function scanCommand(
  omitted: readonly OmittedEndpoint[],
  given: GivenOptions["given"],
): string {
  const protocols = [...new Set(omitted.map(({ protocol }) => protocol))].join(",");
  const [{ endpoint: { address } }] = omitted;
  const isOneHost = omitted.every(({ endpoint }) => endpoint.address === address);
  const ports = portList(omitted.map(({ endpoint }) => endpoint.port));
  const targets = isOneHost
    ? [formatAddress(address), "-p", ports]
    : omitted.map(({ endpoint }) => formatEndpoint(endpoint));
  const options = optionsOf("scan").filter(({ name }) => REPEATED_OPTIONS.includes(name))
    .flatMap(({ name, takes }) => {
      const texts = given.get(name) ?? [];
      return takes === undefined
        ? texts.map(() => dashed(name))
        : texts.flatMap((text) => [dashed(name), quoteWord(text)]);
    });
  return [programName(), "scan", ...targets, "--protocol", protocols, ...options].join(" ");
}
