/**
 * Follows the names of watched servers: a server keeps its identity and its history when its name leads
 * to another address.
 *
 * @module
 */
import { type Address, family, formatEndpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { harmlessText } from "../../core/text.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import { requestText } from "../../targets/srv.ts";
import type { WatchedServer } from "../../watch/mod.ts";
import { lookUpName, type Lookups } from "./name_lookup.ts";

/** Minimum time between two regular lookups of a name, milliseconds. */
const LOOKUP_MS = 60_000;
/** Maximum number of concurrent lookups. */
const MAX_LOOKUPS = 16;

/** Options of {@linkcode MovedNames}. */
export interface MovedNamesOptions {
  readonly lookups: Pick<Lookups, "resolve" | "findService">;
  /** Whether every name may lead to private addresses. */
  readonly allowPrivate: boolean;
  /** The address families for which sockets are open. */
  readonly families: readonly (4 | 6)[];
  /** The clock of lookups. */
  readonly clock: Clock;
  /** Ends the lookups. */
  readonly signal: AbortSignal;
  /** Called with the new address when a server moves. */
  readonly onMove: (address: Address) => void;
  /** Receives a line when a server moves. */
  readonly report: (line: string) => void;
}

/** Looks up the names of watched servers, and moves the servers. */
export class MovedNames {
  readonly #pending = new Set<WatchedServer>();

  /** Starts without lookups. */
  constructor(private readonly options: MovedNamesOptions) {}

  /**
   * Looks up all names once a minute, or less often if lookups take longer. The list may grow.
   *
   * @returns Resolves after the signal.
   */
  async follow(servers: readonly WatchedServer[]): Promise<void> {
    const { clock, signal } = this.options;
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => abort(), { once: true });
    while (!signal.aborted) {
      const next = clock.now() + LOOKUP_MS;
      const named = servers.filter(({ name }) => name !== null).values();
      const work = async () => {
        for (const server of named) {
          if (signal.aborted) return;
          await this.lookUp(server);
        }
      };
      // The end of the watch does not wait for a name server.
      await Promise.race([Promise.all(Array.from({ length: MAX_LOOKUPS }, work)), aborted]);
      await sleep(clock, Math.max(0, next - clock.now()), signal);
    }
  }

  /**
   * Looks up the name of a server. The server stays at its address as long as the name leads there, and
   * when the name cannot be looked up.
   */
  async lookUp(server: WatchedServer): Promise<void> {
    if (server.name === null || this.#pending.has(server)) return;
    this.#pending.add(server);
    try {
      await this.#move(server, server.name);
    } catch (error) {
      // The name has no address at present, or the program may not look it up.
      if (!(error instanceof InputError || error instanceof Deno.errors.NotCapable)) throw error;
    } finally {
      this.#pending.delete(server);
    }
  }

  async #move(server: WatchedServer, name: string): Promise<void> {
    const { lookups: { resolve, findService }, allowPrivate, families, onMove, report } =
      this.options;
    const { endpoint, identity: { isService } } = server;
    const note = () => {}; // refused records were reported when the watch began
    const lookups = {
      resolve,
      findService: isService ? findService : undefined,
      allowPrivate,
      note,
    };
    const { addresses: own, found } = await lookUpName(name, lookups);
    const service = isService ? found?.service : undefined;
    if (isService && service === undefined) return;
    const addresses = isService ? found!.addresses : own;
    const port = service?.port ?? endpoint.port;
    if (addresses.includes(endpoint.address) && port === endpoint.port) return;
    const address = addresses.find((one) => families.includes(family(one)));
    if (address === undefined) return;
    const moved = { address, port };
    server.moveTo(moved, requestText(name, service));
    onMove(address);
    report(
      `${harmlessText(name)} moved from ${formatEndpoint(endpoint)} to ${formatEndpoint(moved)}`,
    );
  }
}
