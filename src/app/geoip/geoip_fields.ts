/**
 * The columns of countries and operators.
 *
 * @module
 */
import type { Field } from "../../core/record.ts";

/** The columns of country and operator, which come after those of servers. */
export const GEOIP_FIELDS = [
  { name: "country", type: "text", nullable: true, meaning: "country of the address, two letters" },
  { name: "asn", type: "integer", nullable: true, meaning: "autonomous system of the address" },
  { name: "operator", type: "text", nullable: true, meaning: "operator of the autonomous system" },
] as unknown as readonly Field[];
