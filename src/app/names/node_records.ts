/**
 * Lookups of SRV records with Node.js and Bun.
 *
 * @module
 */
import { nodeDns } from "../../core/node_modules.ts";
import type { ServiceRecords } from "./dns_lookup.ts";

/** Errors of name servers that mean that there is no record, as with Deno's resolver. */
const NO_RECORD = new Set(["ENOTFOUND", "ENODATA", "EREFUSED", "ESERVFAIL"]);

/**
 * Looks up SRV records with Node.js and Bun.
 *
 * @param nameServer The name server to query. Default: the system's.
 */
export function nodeRecords(
  nameServer?: { readonly ipAddr: string; readonly port: number },
): ServiceRecords {
  return async (name, signal) => {
    const resolver = new (nodeDns().Resolver)();
    if (nameServer !== undefined) resolver.setServers([`${nameServer.ipAddr}:${nameServer.port}`]);
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const records = await resolver.resolveSrv(name);
      return records.map(({ name: target, ...record }) => ({ ...record, target }));
    } catch (error) {
      const code = String((error as { code?: unknown }).code);
      if (NO_RECORD.has(code)) return [];
      if (code === "ETIMEOUT") throw new DOMException("the name server does not reply", "TimedOut");
      if (code === "ECONNREFUSED") throw new Error("no name server can be reached");
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}
