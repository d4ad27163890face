/**
 * The network of queries in Node.js and Bun.
 *
 * @module
 */
export { nodeNetwork } from "./node_network.ts";
