/**
 * What a scan probes and in which order, by its options. The targets are not known yet.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import { usualPorts } from "../../protocols/usual_ports.ts";
import type {
  AdaptiveSetup,
  Marks,
  ScanInterviews,
  ScanOrder,
  ScanSelection,
  ScanTargets,
} from "../../scan/mod.ts";
import { isLater } from "../../sweep/mod.ts";
import { optOutCheck, optOutFilter } from "../../targets/shipped_lists.ts";
import type { EngineChoice } from "../settings/engine_names.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { chosenVerify, type ProtocolChoice, protocolsOf } from "../settings/chosen_protocols.ts";
import type { NamedTargets } from "../targets/find_targets.ts";

export type ScanCommandOptions = OptionsOf<"scan">;

/** The protocols, the ports and the order of a scan. */
export interface ScanChoice
  extends ProtocolSelection, Required<Pick<ScanTargets, "ports" | "queriesKnown">> {
  readonly order: Omit<ScanOrder, "first">;
  /** The budgets of an adaptive scan. The first port of each protocol is then its default port. */
  readonly adaptive?: Omit<AdaptiveSetup, "known">;
}

/** The options from which a choice is made. */
export type ChoiceOptions =
  & ProtocolChoice
  & Pick<ScanCommandOptions, "ports" | "verify" | "seed" | "noRandomize" | "shard" | "from">
  & Partial<Pick<ScanCommandOptions, "engine" | "interface" | "gatewayMac" | "maxTargets">>;

/**
 * The choice that options make.
 *
 * @param start Where a resumed scan starts. Default: the option `from`.
 * @throws InputError for options that contradict each other.
 */
export function scanChoice(
  options: ChoiceOptions,
  randomSeed: () => number,
  start: Marks = options.from,
): ScanChoice {
  checkFrameOptions(options);
  chosenVerify(options);
  return {
    protocols: protocolsOf(options),
    allProtocols: options.allProtocols,
    queriesKnown: options.protocol === undefined,
    ports: chosenPorts(options),
    order: {
      seed: seedOf(options, randomSeed),
      shard: options.shard,
      limit: options.maxTargets ?? Infinity,
      from: start,
    },
  };
}

/** The endpoints that a scan probes, and their order. */
export function scanSelection(
  { order, protocols, allProtocols, ports, queriesKnown, adaptive }: ScanChoice,
  named: NamedTargets,
): ScanSelection {
  const { targets: addresses, known, optedOut, first } = named;
  const { names, services, knownNames, requests } = named;
  const before = adaptive === undefined ? known : undefined;
  const probed = { addresses, protocols, allProtocols, ports, known: before, queriesKnown };
  return {
    targets: { ...probed, names, services, knownNames, requests, optedOut, responders: [] },
    order: { ...order, first },
  };
}

/** What interviews query, and what rows contain. */
export function scanInterviews(
  { noFollow, verify, noPlayers }: Pick<ScanCommandOptions, "noFollow" | "verify" | "noPlayers">,
): ScanInterviews {
  const optOuts = { optsOut: optOutCheck(), mayOptOut: optOutFilter() };
  return { follow: !noFollow, verify, players: !noPlayers, ...optOuts };
}

/** The ports of `--ports`, by protocol and version of the Internet Protocol. */
export function chosenPorts(
  { ports, ...choice }: ProtocolChoice & Pick<ScanCommandOptions, "ports">,
): ScanTargets["ports"] {
  if (ports === undefined) return usualPorts(choice.allProtocols);
  const protocols = protocolsOf(choice);
  const transports = [...new Set(protocols.map(({ transport }) => transport))];
  if (transports.every((transport) => ports[transport].length === 0)) {
    const [name] = transports;
    throw new InputError(
      `Cannot use --ports "${ports.text}": it has no ${name.toUpperCase()} port`,
    );
  }
  return (protocol) => {
    const { transport } = protocols.find(({ name }) => name === protocol)!;
    return ports[transport];
  };
}

/** The seed of the order; `undefined`: ascending. */
function seedOf(
  { shard, from, seed, noRandomize: ascending }: ChoiceOptions,
  randomSeed: () => number,
): number | undefined {
  if (ascending && seed !== undefined) {
    throw new InputError("Cannot use --seed with --no-randomize: --no-randomize needs no seed");
  }
  const fixed = ascending || seed !== undefined;
  if (shard.count > 1 && !fixed) {
    throw new InputError("Cannot use --shard without --seed: all machines need the same order");
  }
  if (!fixed && (isLater(from.udp) || isLater(from.tcp))) {
    throw new InputError("Cannot use --from without the --seed of the scan that was interrupted");
  }
  return ascending ? undefined : seed ?? randomSeed();
}

/** Values of `--engine` that may select an engine that writes frames. */
const FRAME_ENGINES: ReadonlySet<EngineChoice | undefined> = new Set(["packet", "xdp", "fastest"]);

/** Checks that options of engines that write frames are given with such an engine. */
function checkFrameOptions({ interface: name, gatewayMac, engine }: ChoiceOptions): void {
  for (const [option, value] of [["interface", name], ["gateway-mac", gatewayMac]]) {
    if (value === undefined || FRAME_ENGINES.has(engine)) continue;
    throw new InputError(`Cannot use --${option}: it is for --engine packet, xdp or fastest`);
  }
}
