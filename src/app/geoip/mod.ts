/**
 * Countries and networks of addresses.
 *
 * @module
 */
export {
  type GeoipLookup,
  type GeoipValues,
  placeLookup,
  readGeoipFiles,
  UNKNOWN_GEOIP,
} from "./places.ts";
