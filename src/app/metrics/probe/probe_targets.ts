/**
 * The targets that a client of `/probe` may name: the servers of the watch, and those of
 * `--probe-allow`. Clients may be other people than the user, so a target is not permitted only
 * because a client names it.
 *
 * @module
 */
import { GAME_PORT, mayHaveService } from "../../../protocols/usual_ports.ts";
import { type Address, type Endpoint, family, isLoopback } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { neverProbedReason, privateRanges } from "../../../targets/shipped_lists.ts";
import { parseTarget, type Target } from "../../../targets/parse.ts";
import { AddressSet, type Range } from "../../../targets/ranges.ts";
import type { WatchedServer } from "../../../watch/mod.ts";
import type { Service } from "../../../targets/srv.ts";
import { lookUpName, type Lookups } from "../../names/name_lookup.ts";

/** A target of a client: an endpoint, or a name that is still to be resolved. */
export type ProbeTarget = Endpoint | { readonly name: string; readonly port: number };

/** The endpoint of a target. */
export interface ProbedEndpoint extends Endpoint {
  /** The SRV record of the target's name, if it leads to the endpoint. */
  readonly service?: Service;
}

/** Why a target must not be probed. */
export class ForbiddenTarget extends InputError {}

/**
 * Parses `HOST:PORT`.
 *
 * @throws InputError for any other text.
 */
export function parseProbeTarget(text: string): ProbeTarget {
  const target = parseTarget(text);
  if (target.port === undefined) {
    throw new InputError(`Cannot probe "${text}": expected HOST:PORT, for example 192.0.2.1:19132`);
  }
  if ("name" in target) return { name: target.name, port: target.port };
  const { range: { start: address, end } } = target;
  if (BigInt(end) - BigInt(address) === 1n) return { address, port: target.port };
  throw new InputError(`Cannot probe "${text}": it is a range; expected one address or name`);
}

/** What {@linkcode ProbeTargets} permits. */
export interface ProbeTargetsOptions {
  /** The servers of the watch. Others may be added, and their endpoints may change. */
  readonly servers: readonly WatchedServer[];
  /** The targets of `--probe-allow`. */
  readonly allowed: readonly Target[];
  readonly lookups: Pick<Lookups, "resolve" | "findService">;
  /** Whether every name may lead to private addresses. */
  readonly allowPrivate: boolean;
}

/** Decides which targets may be probed, and resolves names. */
export class ProbeTargets {
  readonly #privates = privateRanges().map(({ range }) => range);
  readonly #private = new AddressSet(this.#privates);

  /** Reads the options anew for each request, because the servers of the watch change. */
  constructor(private readonly options: ProbeTargetsOptions) {}

  /**
   * The watched server of an endpoint; `undefined`: there is none.
   *
   * @param name The name of the server; `null`: any.
   */
  watched({ address, port }: Endpoint, name: string | null): WatchedServer | undefined {
    return this.options.servers.find((server) =>
      server.endpoint.port === port && server.endpoint.address === address &&
      (name === null || server.name === name)
    );
  }

  /**
   * Checks that a target may be probed. Looks nothing up.
   *
   * @throws ForbiddenTarget when it may not.
   */
  require(target: ProbeTarget, text: string): void {
    const reason = "address" in target ? neverProbedReason(target.address) : undefined;
    if (reason !== undefined) {
      throw new ForbiddenTarget(`Cannot probe "${text}": never probed: ${reason}`);
    }
    if (this.#permits(target)) return;
    throw new ForbiddenTarget(
      `Cannot probe "${text}": it is neither a server of this watch nor a target of --probe-allow`,
    );
  }

  /**
   * Finds the endpoint of a name that may be probed. An SRV record replaces the usual port of Java
   * servers, as in the game.
   *
   * @param families The address families of open sockets.
   * @throws ForbiddenTarget when the name leads only to addresses that must not be probed; InputError
   * when it cannot be resolved.
   */
  async resolve(
    { name, port }: ProbeTarget & { readonly name: string },
    families: readonly (4 | 6)[],
  ): Promise<ProbedEndpoint> {
    const { lookups: { resolve, findService }, allowPrivate } = this.options;
    const note = () => {}; // the reasons are in the error, if no address is left
    const { addresses: own, found, refused } = await lookUpName(name, {
      ...(mayHaveService(port) && { findService }),
      ...{ resolve, allowPrivate, note },
    });
    if (refused !== undefined) throw new ForbiddenTarget(refused[0]);
    const { addresses, service } = found ?? { addresses: own };
    const address = addresses.find((one) => families.includes(family(one))) ?? addresses[0];
    if (address === undefined) throw new InputError(`Cannot find host "${name}": no address`);
    const endpoint = this.requireFamily({ address, port: service?.port ?? port }, families);
    return { ...endpoint, service };
  }

  /**
   * Returns an endpoint for whose family a socket is open.
   *
   * @throws ForbiddenTarget when there is none.
   */
  requireFamily(endpoint: Endpoint, families: readonly (4 | 6)[]): Endpoint {
    const bits = family(endpoint.address);
    if (families.includes(bits)) return endpoint;
    throw new ForbiddenTarget(`Cannot probe IPv${bits}: the watch has no socket for it`);
  }

  #permits(target: ProbeTarget): boolean {
    const { allowed, servers } = this.options;
    if ("name" in target) {
      return servers.some(({ name, endpoint, identity: { isService } }) =>
        name === target.name && (isService ? GAME_PORT : endpoint.port) === target.port
      ) ||
        allowed.some((one) => "name" in one && one.name === target.name && isPort(one, target));
    }
    return this.watched(target, null) !== undefined ||
      allowed.some((one) =>
        "range" in one && contains(one.range, target.address) && isPort(one, target) &&
        (!this.#private.has(target.address) || this.#isPrivate(one.range))
      );
  }

  /**
   * Whether a range lies wholly inside a private range. Other ranges do not permit the private
   * addresses in them.
   */
  #isPrivate({ start, end }: Range): boolean {
    return this.#privates.some((one) =>
      typeof one.start === typeof start && one.start <= start && end <= one.end
    );
  }
}

function isPort({ port }: Target, target: ProbeTarget): boolean {
  return port === undefined || port === target.port;
}

function contains({ start, end }: Range, address: Address): boolean {
  return typeof start === typeof address && start <= address && address < end;
}

/**
 * The address families of targets. A name counts as IPv4, also if it has addresses of both
 * families.
 */
export function familiesOfTargets(targets: readonly Target[]): readonly (4 | 6)[] {
  const families = targets.map((target) => "range" in target ? family(target.range.start) : 4);
  return [...new Set(families)];
}

export function areLoopback(targets: readonly Target[]): boolean {
  return targets.every((target) =>
    "range" in target && isLoopback(target.range.start) &&
    isLoopback(
      typeof target.range.end === "number" ? target.range.end - 1 : target.range.end as bigint - 1n,
    )
  );
}
