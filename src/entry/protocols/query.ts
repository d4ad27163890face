/**
 * The Query protocol: handshakes and tokens, requests of a stat, and stats.
 *
 * @module
 */
export {
  type Challenge,
  decodeQueryChallenge,
  decodeQueryRequest,
  encodeHandshake,
  encodeQueryChallenge,
  encodeStatRequest,
  PADDING,
  type QueryRequest,
} from "../../protocols/query/codec.ts";
export { formatPlugins, parsePlugins, type PluginList } from "../../protocols/query/plugins.ts";
export {
  type BasicStat,
  decodeStat,
  encodeBasicStat,
  encodeFullStat,
  type FullStat,
  type Stat,
} from "../../protocols/query/stat.ts";
