/**
 * Names in imported files: a server whose file gives a name and no address gets the address of the name.
 *
 * @module
 */
import { mayHaveService } from "../../protocols/usual_ports.ts";
import { formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { emptyRecord } from "../../core/record.ts";
import type { ImportedServer } from "../../sinks/foreign/mod.ts";
import { parseTarget } from "../../targets/parse.ts";
import { requestText } from "../../targets/srv.ts";
import { lookUpName, type Lookups, RefusedName } from "./name_lookup.ts";

/** A name in a line of a file. */
export interface ImportedName {
  readonly name: string;
  /** The port in the line; `undefined`: none. */
  readonly port: number | undefined;
}

/** The name in a line: `NAME:PORT`, or a name that contains a dot; `undefined` for other text. */
export function nameInLine(line: string): ImportedName | undefined {
  try {
    const target = parseTarget(line.trim());
    if (!("name" in target)) return undefined;
    const { name, port } = target;
    return port === undefined && !name.includes(".") ? undefined : { name, port };
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/**
 * The server of a name: at its first address, or where its SRV record leads if there is no port, or
 * the usual one of the game.
 *
 * @param port The port for names without one. Default: they need an SRV record.
 * @throws InputError when the name has no address, no port, or no record that may be used.
 */
export async function resolveImportedName(
  { name, port: own }: ImportedName,
  { port: other, seenAt }: { readonly port: number | undefined; readonly seenAt: number },
  lookups: Lookups,
): Promise<ImportedServer> {
  const { findService } = mayHaveService(own) ? lookups : {};
  const { addresses, found, refused } = await lookUpName(name, { ...lookups, findService });
  if (refused !== undefined) throw new RefusedName(name, refused, lookups.note);
  const service = found?.service;
  const address = found?.addresses[0] ?? addresses[0];
  const port = service?.port ?? own ?? other;
  if (port === undefined) {
    throw new InputError(`Cannot use "${name}": it has no SRV record; give NAME:PORT, or --port`);
  }
  const record = {
    ...emptyRecord({ address, port }, seenAt),
    host: formatAddress(address),
    requested_as: service === undefined ? name : requestText(name, service),
  };
  return { record };
}
