/**
 * Looking up host names, as other programs on the machine do.
 *
 * @module
 */
import { lookup } from "node:dns/promises";
import { domainToASCII } from "node:url";
import { type Address, parseAddress } from "../address.ts";
import { InputError } from "../errors.ts";

/**
 * The addresses of a name, of both families.
 *
 * @throws InputError when there are none.
 */
export async function resolveName(name: string): Promise<readonly Address[]> {
  const ascii = domainToASCII(name);
  if (ascii === "") throw new InputError(`Cannot look up "${name}": not a host name`);
  try {
    const found = await lookup(ascii, { all: true });
    return [...new Set(found.map(({ address }) => parseAddress(address)!))];
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { code, message } = error as Error & { code?: string };
    throw new InputError(`Cannot find host "${name}": ${FAULTS[code ?? ""] ?? message}`);
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  EPERM: "looking names up is not granted, run again with the --allow-net flag",
  ENOTFOUND: "there is no such name",
  EAI_AGAIN: "the name server does not answer",
};
