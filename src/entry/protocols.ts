/**
 * Every protocol: messages read and written, exchanges, and the software that replies show.
 *
 * All of it is pure: it needs no permission, and runs wherever JavaScript does. A program that reads
 * one protocol imports that one alone: `blocksweep/protocols/raknet`, `/query`, `/slp`, `/sqp`, `/lan`.
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

/** The local network: announcements of Java worlds and NetherNet discovery, read and written. */
export * as lan from "../protocols/lan/mod.ts";
/** Query: requests, tokens and stats, read and written. */
export * as query from "../protocols/query/mod.ts";
/** RakNet: pings, pongs and advertisements, read and written. */
export * as raknet from "../protocols/raknet/mod.ts";
/** Server List Ping: requests, statuses and their old forms, read and written. */
export * as slp from "../protocols/slp/mod.ts";
/** SQP: challenges, queries, packets and chunks, read and written. */
export * as sqp from "../protocols/sqp/mod.ts";
