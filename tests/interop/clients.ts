/**
 * Clients that others wrote, with types for as much of them as is used.
 *
 * Their names are no literals to `import()`: only this folder's configuration knows them, and the
 * project's own type check passes over them.
 */

const load = (name: string) => import(name);

/** How minecraft-server-util asks. */
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

type Ask<T> = (host: string, port: number, options: UtilOptions) => Promise<T>;

/** The functions of minecraft-server-util. */
interface Util {
  readonly statusBedrock: Ask<UtilStatus>;
  readonly queryBasic: Ask<UtilBasic>;
  readonly queryFull: Ask<UtilFull>;
}

export const { statusBedrock, queryBasic, queryFull }: Util = await load("minecraft-server-util");

/** What gamedig is asked. */
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

/** gamedig, with the one socket that it asks everybody from. */
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
