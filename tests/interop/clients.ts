/**
 * Clients of other projects, with types for those parts that the tests use.
 *
 * The names of the packages are not literals in `import()`, because only the configuration of this
 * folder has these packages. The type check of the project therefore skips them.
 */
import process from "node:process";

// minecraft-server-util prints a warning at each call of its deprecated functions.
Object.assign(process, { noDeprecation: true });

const load = (name: string) => import(name);

/** Options of queries by minecraft-server-util. */
export interface UtilOptions {
  /** Always false: no lookup of SRV records. */
  readonly enableSRV: false;
  /** Timeout, milliseconds. Default: 5000. */
  readonly timeout?: number;
}

/** A pong as minecraft-server-util returns it. */
export interface UtilStatus {
  readonly edition: string;
  readonly motd: { readonly clean: string };
  readonly version: { readonly name: string; readonly protocol: number };
  readonly players: { readonly online: number; readonly max: number };
  readonly serverGUID: bigint;
  readonly serverID: string;
  readonly gameMode: string;
  readonly portIPv4: number | null;
  readonly portIPv6: number | null;
}

/** A basic stat as minecraft-server-util returns it. */
export interface UtilBasic {
  readonly motd: { readonly clean: string };
  readonly gameType: string;
  readonly map: string;
  readonly players: { readonly online: number; readonly max: number };
  readonly hostPort: number;
  readonly hostIP: string;
}

/** A full stat as minecraft-server-util returns it. */
export interface UtilFull {
  readonly motd: { readonly clean: string };
  readonly version: string;
  readonly software: string;
  readonly plugins: readonly string[];
  readonly map: string;
  readonly players: {
    readonly online: number;
    readonly max: number;
    readonly list: readonly string[];
  };
  readonly hostPort: number;
  readonly hostIP: string;
}

/** The status of a Java server as minecraft-server-util returns it. */
export interface UtilJava {
  readonly version: { readonly name: string; readonly protocol: number };
  readonly players: {
    readonly online: number;
    readonly max: number;
    readonly sample: readonly { readonly name: string }[] | null;
  };
  readonly motd: { readonly clean: string };
  readonly favicon: string | null;
}

/** A kick in reply to `fe 01`, as its function for the form of 1.4 returns it. */
export interface UtilFE01 {
  readonly protocolVersion: number;
  readonly version: string;
  readonly players: { readonly online: number; readonly max: number };
  readonly motd: { readonly clean: string };
}

/** A kick, as its function that detects the form returns it. */
export interface UtilLegacy {
  readonly version: { readonly name: string; readonly protocol: number } | null;
  readonly players: { readonly online: number; readonly max: number };
  readonly motd: { readonly clean: string };
}

/** A kick in reply to `fe`, as minecraft-server-util returns it. */
export interface UtilFE {
  readonly players: { readonly online: number; readonly max: number };
  /** The MOTD with formatting codes. */
  readonly motd: string;
}

type Ask<T> = (host: string, port: number, options: UtilOptions) => Promise<T>;

/** The functions of minecraft-server-util. */
interface Util {
  readonly statusBedrock: Ask<UtilStatus>;
  readonly queryBasic: Ask<UtilBasic>;
  readonly queryFull: Ask<UtilFull>;
  readonly status: Ask<UtilJava>;
  readonly statusLegacy: Ask<UtilLegacy>;
  readonly statusFE: Ask<UtilFE>;
  readonly statusFE01: Ask<UtilFE01>;
  readonly statusFE01FA: Ask<UtilFE01>;
}

export const util: Util = await load("minecraft-server-util");

/** Options of a query by gamedig. */
export interface DigQuestion {
  /** The name of a game, or `protocol-` and the name of a protocol. */
  readonly type: string;
  readonly host: string;
  readonly port: number;
  /** Timeout for one datagram, milliseconds. */
  readonly socketTimeout: number;
  /** The encoding of texts, in protocols with this option. */
  readonly encoding?: "utf8" | "latin1";
}

/** The result of a query by gamedig. */
export interface DigAnswer {
  readonly name: string;
  readonly map: string;
  readonly version: string;
  readonly numplayers: number;
  readonly maxplayers: number;
  readonly players: readonly { readonly name: string }[];
  readonly raw: Readonly<Record<string, unknown>>;
}

interface Dig {
  query(question: DigQuestion & { readonly givenPortOnly: true }): Promise<DigAnswer>;
  readonly queryRunner: { readonly udpSocket: { readonly socket: { close(): void } | null } };
}

const { GameDig }: { readonly GameDig: new () => Dig } = await load("gamedig");

/** The client of gamedig. It sends all queries from one socket. */
export class DigClient implements Disposable {
  readonly #dig = new GameDig();

  /** Queries one server once. Rejects when no valid reply arrives. */
  query(question: DigQuestion): Promise<DigAnswer> {
    return this.#dig.query({ ...question, givenPortOnly: true });
  }

  /** Closes the socket. */
  [Symbol.dispose](): void {
    this.#dig.queryRunner.udpSocket.socket?.close();
  }
}
