/**
 * Countries and networks of addresses.
 *
 * @module
 */
export {
  type GeoipLookup,
  type GeoipValues,
  readGeoipFiles,
  readGeoipLookup,
  UNKNOWN_GEOIP,
} from "./geoip_lookup.ts";
