/**
 * Every protocol: encoders and decoders of messages, exchanges, and the classification of server
 * software.
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
export * from "../classify/mod.ts";
export * from "../core/bytes.ts";
export * from "../core/text.ts";
export * from "../protocols/list.ts";
export { LONE_SURROGATE } from "../protocols/lone_surrogates.ts";
export * from "../protocols/protocol.ts";
export * from "../protocols/usual_ports.ts";

/**
 * Local networks: encoders and decoders of Java worlds' announcements and of NetherNet discovery.
 */
export * as lan from "../protocols/lan/mod.ts";
/** NetherNet: encoders and decoders of HTTP requests, replies and statuses. */
export * as nethernet from "../protocols/nethernet/mod.ts";
/** Query: encoders and decoders of requests, tokens and stats. */
export * as query from "../protocols/query/mod.ts";
/** RakNet: encoders and decoders of pings, pongs and advertisements. */
export * as raknet from "../protocols/raknet/mod.ts";
/** Server List Ping: encoders and decoders of requests, statuses and their old forms. */
export * as slp from "../protocols/slp/mod.ts";
/** SQP: encoders and decoders of challenges, queries, packets and chunks. */
export * as sqp from "../protocols/sqp/mod.ts";
