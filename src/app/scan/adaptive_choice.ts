/**
 * The budgets and ports of an adaptive scan, by its options, and which options and targets it refuses.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { withCommas } from "../../core/quantities.ts";
import { sweptProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { AdaptiveSetup, ScanTargets } from "../../scan/mod.ts";
import { isLater } from "../../sweep/mod.ts";
import type { Targets } from "../../targets/compose.ts";
import { parsePorts } from "../../targets/ports.ts";
import { DEFAULTS } from "../settings/defaults.ts";
import type { NamedTargets } from "../targets/find_targets.ts";
import type { ScanChoice, ScanCommandOptions } from "./scan_choice.ts";

/** Maximum number of ports of a protocol. */
const MAX_PORTS = 1024;
/** Number of ports on either side of the usual port that are probed without `--ports`. */
const { portsAround } = DEFAULTS.adaptive;

/**
 * The choice of an adaptive scan.
 *
 * @param even The choice that the same options make for a scan that is not adaptive.
 * @throws InputError for options, protocols and ports that an adaptive scan refuses.
 */
export function adaptiveChoice(options: ScanCommandOptions, even: ScanChoice): ScanChoice {
  const { budget, stopBelow, netBudget, from: { udp, tcp } } = options;
  const refused: readonly (readonly [string, boolean, string])[] = [
    ["max-targets", options.maxTargets !== undefined, "--budget limits its probes"],
    ["from", isLater(udp) || isLater(tcp), "--resume continues it"],
    ["no-randomize", options.noRandomize, "its passes need a shuffled order"],
    ["rescan", options.rescan !== undefined, "--known names a database whose servers come first"],
    ["list-targets", options.listTargets, "its targets follow from the servers that it finds"],
  ];
  const [name, , reason] = refused.find(([, isGiven]) => isGiven) ?? [];
  if (name !== undefined) throw new InputError(`Cannot use --${name} with --adaptive: ${reason}`);
  checkProtocols(even.protocols);
  return {
    ...even,
    ports: adaptivePorts(options, even),
    adaptive: {
      budget: budget ?? { share: DEFAULTS.adaptive.share },
      stopBelow: stopBelow ?? 0,
      netBudget: netBudget ?? DEFAULTS.adaptive.netBudget,
    },
  };
}

function checkProtocols(protocols: readonly Protocol[]): void {
  const names = (these: readonly Protocol[]) => these.map(({ name }) => name).join(",");
  const suppressed = protocols.find(({ suppressedBy }) => suppressedBy !== undefined);
  if (suppressed !== undefined) {
    throw new InputError(
      `Cannot use --adaptive with --protocol ${suppressed.name}: its targets have to be probed in ` +
        `${suppressed.suppressedBy} first, each of them; scan it without --adaptive`,
    );
  }
  if (sweptProtocols(protocols).length > 0) return;
  throw new InputError(
    `Cannot use --adaptive with --protocol ${names(protocols)}: it only follows up, because its ` +
      "replies are easily forged; name another protocol too",
  );
}

/**
 * The ports of each protocol, its default port first: the usual port and 100 on either side, or those
 * of `--ports`.
 */
function adaptivePorts(
  options: Pick<ScanCommandOptions, "ports">,
  { protocols, ports }: ScanChoice,
): ScanTargets["ports"] {
  const windows = new Map(
    protocols.map((protocol) => [protocol.name, windowOf(protocol, options, ports)]),
  );
  return (protocol, family) => family === 4 ? windows.get(protocol) ?? [] : [];
}

/** The ports of one protocol, the default port first. */
function windowOf(
  { name, transport, ports: { 4: [usual] } }: Protocol,
  { ports: given }: Pick<ScanCommandOptions, "ports">,
  ports: ScanTargets["ports"],
): readonly number[] {
  const all = given !== undefined ? ports(name, 4) : usual === undefined ? [] : around(usual);
  if (all.length > MAX_PORTS) {
    throw new InputError(
      `Cannot use --ports "${given?.text}" with --adaptive: it names ${withCommas(all.length)} ` +
        `${transport.toUpperCase()} ports; at most ${withCommas(MAX_PORTS)} can be probed`,
    );
  }
  const first = all.includes(usual) ? usual : given && firstPort(given.text, transport);
  return first === undefined ? all : [first, ...all.filter((port) => port !== first)];
}

/** The ports of the window around a usual port, ascending. */
function around(usual: number): number[] {
  const first = Math.max(1, usual - portsAround);
  const last = Math.min(65_535, usual + portsAround);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** The port that `--ports` names first for a transport; `undefined`: it names none. */
function firstPort(text: string, transport: "udp" | "tcp"): number | undefined {
  const words = text.split(",");
  return words.map((_, i) => parsePorts(words.slice(0, i + 1).join(","))[transport])
    .find((ports) => ports.length > 0)?.[0];
}

/**
 * Checks the targets of an adaptive scan.
 *
 * @throws InputError for targets of IPv6, and for those with a port of their own.
 */
export function checkAdaptiveTargets({ groups }: Targets): void {
  for (const { addresses, ports: [port] } of groups) {
    const [{ start }] = addresses;
    if (typeof start !== "number") {
      throw new InputError(
        `Cannot scan ${formatAddress(start)} with --adaptive: adaptive scans are for IPv4`,
      );
    }
    if (port === undefined) continue;
    throw new InputError(
      `Cannot scan ${formatAddress(start)}:${port} with --adaptive: name targets without a port; ` +
        "--ports chooses ports, and --known reads known servers",
    );
  }
}

/** The options of an adaptive scan, with those of the known servers that speak a swept protocol. */
export function adaptiveSetup(
  { adaptive, protocols }: ScanChoice,
  known: NamedTargets["known"],
): AdaptiveSetup {
  const names = sweptProtocols(protocols).map(({ name }) => name);
  const spoken = known.flatMap(({ endpoint, protocols }) =>
    names.filter((name) => protocols.includes(name)).map((protocol) => ({ endpoint, protocol }))
  );
  return { ...adaptive!, known: spoken };
}
