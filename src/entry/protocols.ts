/**
 * Every protocol: encoders and decoders of messages, text of servers, and the classification of
 * server software.
 *
 * This code is pure: it needs no permission, and runs wherever JavaScript runs. A program that uses
 * only one protocol imports only that protocol: `blocksweep/protocols/raknet`, `/nethernet`,
 * `/query`, `/slp`, `/sqp`, `/lan`.
 *
 * @example Read a pong
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("MCPE;My server;766;1.21.50;3;20;1;world;Survival;");
 * const pong = raknet.encodePong({ advertise: false, time: 7n, guid: 1n, text });
 * const status = raknet.decodeAdvertisement(raknet.decodePong(pong)!.text!);
 * assertEquals([status?.motd, status?.online, status?.max], ["My server", 3, 20]);
 * ```
 *
 * @module
 */
export { type Classification, classify } from "../classify/mod.ts";
export { Malformed, Truncated } from "../core/bytes.ts";
export { harmlessText, plainText } from "../core/text.ts";

/**
 * Local networks: encoders and decoders of Java worlds' announcements and of NetherNet discovery.
 */
export * as lan from "./protocols/lan.ts";
/** NetherNet: encoders and decoders of HTTP requests, replies and statuses. */
export * as nethernet from "./protocols/nethernet.ts";
/** Query: encoders and decoders of requests, tokens and stats. */
export * as query from "./protocols/query.ts";
/** RakNet: encoders and decoders of pings, pongs and advertisements. */
export * as raknet from "./protocols/raknet.ts";
/** Server List Ping: encoders and decoders of requests, statuses and their old forms. */
export * as slp from "./protocols/slp.ts";
/** SQP: encoders and decoders of challenges, queries, packets and chunks. */
export * as sqp from "./protocols/sqp.ts";
