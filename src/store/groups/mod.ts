/**
 * Groups of a database: rows that certainly belong to one server.
 *
 * @module
 */
export { groupsById, type PairVerdicts, readGroups, type ServerGroups } from "./read_groups.ts";
