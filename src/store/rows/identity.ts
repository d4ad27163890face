/**
 * The identity of a server in a database: the name that was requested, else the address.
 *
 * @module
 */
import { nodeUrl } from "../../core/node_modules.ts";
import {
  formatAddress,
  formatEndpoint,
  formatHost,
  parseAddress,
  parseEndpoint,
  parseHost,
} from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import { namesIn } from "../../targets/requested_names.ts";
import { parseTarget } from "../../targets/parse.ts";

/** The identity of a server, and its last endpoint. */
export interface ServerIdentity {
  /**
   * The server's key in a database, as a user types it: `192.0.2.1:25565`, `[2001:db8::1]:19132`,
   * `play.example.org:25565`, or `play.example.org` if an SRV record led to the server.
   */
  readonly key: string;
  /** The name in the key, in lower case, as A-labels, without a final dot; `null`: none. */
  readonly hostname: string | null;
  /** Whether an SRV record of the name led to the server. */
  readonly isService: boolean;
  /** The address in canonical form, without a zone. */
  readonly address: string;
  /** The zone of a link-local address, such as `eth0`; `null`: none. */
  readonly scope: string | null;
  readonly port: number;
}

export type IdentifyingFields = Pick<ServerRecord, "host" | "port" | "requested_as">;

/** The identity of a record's server; `undefined` when the host is not an address. */
export function identityOf({ host, port, requested_as: requestedAs }: IdentifyingFields):
  | ServerIdentity
  | undefined {
  const [text, zone] = host.split("%", 2);
  const parsed = parseAddress(text);
  if (parsed === undefined) return undefined;
  const address = formatAddress(parsed);
  const scope = zone === undefined || zone === "" ? null : zone;
  const hostPort = { address, scope, port };
  if (requestedAs !== null) {
    const { name, service } = namesIn(requestedAs);
    const hostname = nodeUrl().domainToASCII(name ?? service?.name ?? "");
    if (hostname !== "") {
      const isService = service !== undefined;
      return {
        key: isService ? hostname : `${hostname}:${port}`,
        hostname,
        isService,
        ...hostPort,
      };
    }
  }
  return byAddress(hostPort);
}

/** A record and the identity of its server. */
export interface Identified<R extends ServerRecord = ServerRecord> {
  readonly record: R;
  readonly identity: ServerIdentity;
}

/** Records with their identities, without those whose host is not an address. */
export function identified<R extends ServerRecord>(records: readonly R[]): Identified<R>[] {
  const all: Identified<R>[] = [];
  for (const record of records) {
    const identity = identityOf(record);
    if (identity !== undefined) all.push({ record, identity });
  }
  return all;
}

/** The identity of a server that has no name. */
export function byAddress(
  { address, scope, port }: Pick<ServerIdentity, "address" | "scope" | "port">,
): ServerIdentity {
  const host = scope === null ? address : `${address}%${scope}`;
  return { key: serverId({ host, port }), hostname: null, isService: false, address, scope, port };
}

/** A server as a user names it. */
export interface ServerName {
  /** The key that a server of this name would have. */
  readonly key: string;
  /** The address in canonical form, or the name. */
  readonly host: string;
  /** The port; `undefined`: the user named none. */
  readonly port: number | undefined;
}

/**
 * Parses a server as a user names it: `192.0.2.1:25565`, `[fe80::1%eth0]:19132`, `192.0.2.1`,
 * `play.example.org:25565` or `play.example.org`.
 *
 * @returns `undefined` for other text.
 */
export function parseServerName(text: string): ServerName | undefined {
  const endpoint = parseEndpoint(text);
  const hostPort = endpoint ?? parseHost(text);
  if (hostPort !== undefined) {
    const [host, port] = [formatAddress(hostPort.address), endpoint?.port];
    const key = port === undefined ? formatHost(hostPort) : formatEndpoint({ ...hostPort, port });
    return { key, host, port };
  }
  const target = nameIn(text);
  const host = nodeUrl().domainToASCII(target?.name ?? "");
  if (host === "") return undefined;
  const port = target?.port;
  return { key: port === undefined ? host : `${host}:${port}`, host, port };
}

/** The name and the port of a text; `undefined` when it is not a name. */
function nameIn(text: string): { name: string; port: number | undefined } | undefined {
  try {
    const target = parseTarget(text);
    return "name" in target ? target : undefined;
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}
