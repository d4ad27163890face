/**
 * Clients that others wrote, with types for as much of them as is used.
 *
 * Their names are no literals to `import()`: only this folder's configuration knows them, and the
 * project's own type check passes over them.
 */
import process from "node:process";

// minecraft-server-util warns of its older functions, a line each time that they are called.
Object.assign(process, { noDeprecation: true });

const load = (name: string) => import(name);

/** Options of queries by minecraft-server-util. */
export interface UtilOptions {
  /** Never a question to a name server. */
  readonly enableSRV: false;
  /** Milliseconds. Default: 5000. */
  readonly timeout?: number;
}

/** What minecraft-server-util makes of a pong. */
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

/** What it makes of a basic stat. */
export interface UtilBasic {
  readonly motd: { readonly clean: string };
  readonly gameType: string;
  readonly map: string;
  readonly players: { readonly online: number; readonly max: number };
  readonly hostPort: number;
  readonly hostIP: string;
}

/** What it makes of a full stat. */
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

/** What it makes of the status of a Java server. */
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

/** Its result for a kick in reply to `fe 01`, if it expects that of 1.4. */
export interface UtilFE01 {
  readonly protocolVersion: number;
  readonly version: string;
  readonly players: { readonly online: number; readonly max: number };
  readonly motd: { readonly clean: string };
}

/** The same, if it is to find out whose it is. */
export interface UtilLegacy {
  readonly version: { readonly name: string; readonly protocol: number } | null;
  readonly players: { readonly online: number; readonly max: number };
  readonly motd: { readonly clean: string };
}

/** What it makes of a kick in answer to `fe`. */
export interface UtilFE {
  readonly players: { readonly online: number; readonly max: number };
  /** With formatting codes. */
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
  /** A game, or `protocol-` and the name of a protocol. */
  readonly type: string;
  readonly host: string;
  readonly port: number;
  /** How long to wait for one datagram, milliseconds. */
  readonly socketTimeout: number;
  /** How texts are decoded, where its protocol lets one choose. */
  readonly encoding?: "utf8" | "latin1";
}

/** What gamedig answers. */
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

/** gamedig, which sends all queries from one socket. */
export class DigClient implements Disposable {
  readonly #dig = new GameDig();

  /** Asks one server once; rejects when nothing that it understands comes back. */
  query(question: DigQuestion): Promise<DigAnswer> {
    return this.#dig.query({ ...question, givenPortOnly: true });
  }

  /** Closes the socket. */
  [Symbol.dispose](): void {
    this.#dig.queryRunner.udpSocket.socket?.close();
  }
}
