/**
 * The targets that clients of the status API may name: in the mode `open` public addresses and names that
 * lead to them, in the mode `allow` those of a list. Nothing is looked up or sent for others.
 *
 * @module
 */
import { nodeUrl } from "../../core/node_modules.ts";
import { InputError } from "../../core/errors.ts";
import { AddressSet } from "../../targets/ranges.ts";
import { isLocalName, refusedFromName } from "../../targets/shipped_lists.ts";
import {
  ForbiddenTarget,
  type ProbedEndpoint,
  type ProbeTarget,
  ProbeTargets,
  type ProbeTargetsOptions,
} from "../metrics/probe/probe_targets.ts";
import type { Target } from "../../targets/parse.ts";
import type { Lookups } from "../names/name_lookup.ts";

/** The lowest port that is probed: those below belong to other services than games. */
export const MIN_PORT = 1024;
/** Maximum length of a name (RFC 1035, 2.3.4). */
const MAX_NAME = 253;
/** Names whose last label is a number, which the system's resolver may read as an IPv4 address. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/;

/** Permits the targets of a list. A port of another service is permitted only if the list names it for the target. */
export class ListedTargets extends ProbeTargets {
  /** The targets of the list whose ports belong to other services. */
  readonly #low: readonly {
    readonly port: number;
    readonly has: (target: ProbeTarget) => boolean;
  }[];

  constructor(
    allowed: readonly Target[],
    options: Pick<ProbeTargetsOptions, "lookups" | "allowPrivate">,
  ) {
    super({ ...options, servers: [], allowed });
    this.#low = allowed.flatMap((one) => {
      const { port } = one;
      if (port === undefined || portReason(port) === undefined) return [];
      if ("name" in one) {
        return [{ port, has: (target) => "name" in target && target.name === one.name }];
      }
      const range = new AddressSet([one.range]);
      return [{ port, has: (target) => "address" in target && range.has(target.address) }];
    });
  }

  /** @throws ForbiddenTarget when a target may not be probed. */
  override require(target: ProbeTarget, text: string): void {
    super.require(target, text);
    this.#requirePort(target, target.port, text);
  }

  /** Finds the endpoint of a name, and checks the port, which an SRV record may have replaced. */
  override async resolve(
    target: ProbeTarget & { readonly name: string },
    families: readonly (4 | 6)[],
  ): Promise<ProbedEndpoint> {
    const endpoint = await super.resolve(target, families);
    this.#requirePort(target, endpoint.port, target.name);
    return endpoint;
  }

  #requirePort(target: ProbeTarget, port: number, text: string): void {
    const isListed = this.#low.some((one) => one.port === port && one.has(target));
    const reason = isListed ? undefined : portReason(port);
    if (reason !== undefined) throw new ForbiddenTarget(`Cannot probe "${text}": ${reason}`);
  }
}

/** Permits public addresses and names that lead to them. */
export class PublicTargets extends ProbeTargets {
  constructor(lookups: Pick<Lookups, "resolve" | "findService">) {
    super({ servers: [], allowed: [], allowPrivate: false, lookups: absolute(lookups) });
  }

  /**
   * Checks a target before its name is looked up.
   *
   * @throws ForbiddenTarget when it may not be probed.
   */
  override require(target: ProbeTarget, text: string): void {
    const reason = portReason(target.port) ??
      ("address" in target
        // as an address to which a public name leads, so that both may lead to the same servers
        ? refusedFromName(PUBLIC_NAME, target.address, false)
        : nameReason(target.name));
    if (reason !== undefined) throw new ForbiddenTarget(`Cannot probe "${text}": ${reason}`);
  }

  /**
   * Finds the endpoint of a name, and checks the port, which an SRV record may have replaced. The addresses
   * are checked where the name is looked up, and the endpoint has the one that is then dialled.
   */
  override async resolve(
    target: ProbeTarget & { readonly name: string },
    families: readonly (4 | 6)[],
  ): Promise<ProbedEndpoint> {
    const endpoint = await super.resolve(target, families);
    this.require({ address: endpoint.address, port: endpoint.port }, target.name);
    return endpoint;
  }
}

/** Any name that is not local. */
const PUBLIC_NAME = "a.example";

function portReason(port: number): string | undefined {
  return port < MIN_PORT ? `ports below ${MIN_PORT} are not probed` : undefined;
}

/** Why a name is not looked up. */
function nameReason(name: string): string | undefined {
  const ascii = nodeUrl().domainToASCII(name).replace(/\.$/, "");
  if (ascii === "" || ascii.length > MAX_NAME) return "it is not a host name";
  if (isLocalName(ascii)) return "it is a local name";
  return ENDS_IN_NUMBER.test(ascii) ? "it is a number" : undefined;
}

/**
 * Lookups of absolute names: the resolver appends no search domains of the user's own network. Local names,
 * to which an SRV record may lead, are not looked up.
 */
function absolute({ resolve, findService }: Pick<Lookups, "resolve" | "findService">) {
  return {
    resolve: async (name: string) => {
      const reason = nameReason(name);
      if (reason !== undefined) throw new InputError(`Cannot look up "${name}": ${reason}`);
      return await resolve(`${name}.`);
    },
    findService,
  };
}
