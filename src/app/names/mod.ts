/**
 * Names of hosts, and their lookup.
 *
 * @module
 */
export { resolveName, serviceFinder } from "./dns_lookup.ts";
export { type ImportedName, nameInLine, resolveImportedName } from "./imported_names.ts";
export { type Lookups, LOOKUPS_AT_ONCE, UnansweredName } from "./name_lookup.ts";
