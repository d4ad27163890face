/**
 * Queries hosts: reads options, looks up names, and queries each endpoint.
 *
 * @module
 */
export {
  locateHosts,
  type NamedHost,
  type QueriedEndpoint,
  type QueryCall,
  queryEndpoints,
  readQuery,
  recordsOf,
} from "./query_endpoints.ts";
