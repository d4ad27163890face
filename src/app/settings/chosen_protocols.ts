/**
 * The protocols that a user chooses, and whether one of them verifies servers.
 *
 * @module
 */
import { closestName } from "../../core/closest_name.ts";
import { InputError } from "../../core/errors.ts";
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** The protocols of the program, and those that a user chooses. */
export interface ProtocolChoice {
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** The protocols that the user named; `undefined`: the usual ones. */
  readonly protocol: readonly Protocol[] | undefined;
}

/** The chosen protocols, in the order of their passes. */
export function protocolsOf({ protocol, allProtocols }: ProtocolChoice): readonly Protocol[] {
  return protocol ?? usualProtocols(allProtocols);
}

/**
 * The protocols with these names, in the order of their passes.
 *
 * @throws InputError for a name that is not a protocol's, and for an empty list.
 */
export function chosenProtocols(
  names: readonly string[],
  allProtocols: readonly Protocol[],
): readonly Protocol[] {
  const known = allProtocols.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const meant = closestName(name, known) ?? thatFind(name, allProtocols);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new InputError(
      `Cannot use protocol "${name}": expected one of ${known.join(", ")}${hint}`,
    );
  }
  if (names.length === 0) throw new InputError("Cannot use --protocol: it names no protocol");
  return allProtocols.filter(({ name }) => names.includes(name));
}

/** The protocols that find servers of a kind, such as `bedrock`; `undefined`: no description has the word. */
function thatFind(word: string, allProtocols: readonly Protocol[]): string | undefined {
  const kind = word.toLowerCase();
  const able = allProtocols.filter(({ finds }) => finds.toLowerCase().split(/\W+/).includes(kind));
  return able.length === 0 ? undefined : able.map(({ name }) => name).join(" or ");
}

/**
 * Whether `--verify` is given.
 *
 * @throws InputError when none of the chosen protocols can verify a server.
 */
export function chosenVerify(
  options: ProtocolChoice & { readonly verify: boolean },
): boolean {
  if (!options.verify) return false;
  const protocols = protocolsOf(options);
  if (protocols.some(({ verify }) => verify !== undefined)) return true;
  const able = options.allProtocols.filter(({ verify }) => verify !== undefined);
  throw new InputError(
    `Cannot use --verify with --protocol ${protocols.map(({ name }) => name).join(",")}: ` +
      (able.length === 0
        ? "no protocol verifies servers"
        : `it needs ${able.length > 1 ? "one of " : ""}${able.map(({ name }) => name).join(", ")}`),
  );
}
