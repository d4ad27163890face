/**
 * Addresses in the tables of servers.
 *
 * @module
 */
import { type Address, formatAddress, parseAddress } from "../../core/address.ts";
import { type Database, isInList, listValue, type Value } from "../database/database.ts";

/** An address in a form whose order as text is the order of numbers, IPv4 before IPv6. */
export function addressSort(text: string): string {
  return sortOf(parseAddress(text)!);
}

function sortOf(address: Address): string {
  return typeof address === "number"
    ? `4${address.toString(16).padStart(8, "0")}`
    : `6${address.toString(16).padStart(32, "0")}`;
}

/** The canonical form of an address. PostgreSQL writes some IPv6 addresses in another form. */
export function canonicalHost(text: string): string {
  const address = text.includes(":") ? parseAddress(text) : undefined;
  return address === undefined ? text : formatAddress(address);
}

/** The column that sorts servers by address. */
export function addressColumn({ engine }: Database): "address" | "address_sort" {
  return engine === "postgres" ? "address" : "address_sort";
}

/** The value of {@linkcode addressColumn} for an address. */
export function addressValue({ engine }: Database, address: Address): Value {
  return engine === "postgres" ? formatAddress(address) : sortOf(address);
}

/** SQL of a condition, and its parameter: servers `s` have one of the addresses. */
export function hasAddressIn(
  database: Database,
  hosts: readonly string[],
): { condition: string; value: string } {
  const isPostgres = database.engine === "postgres";
  const column = `s.${addressColumn(database)}`;
  return {
    condition: isInList(database, column, isPostgres ? "inet" : "text"),
    value: listValue(database, isPostgres ? hosts : hosts.map(addressSort)),
  };
}
