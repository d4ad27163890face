/** @module */
export * from "./bytes.ts";
export * from "./address.ts";
export * from "./record.ts";
export * from "./text.ts";
export * from "./protocols/protocol.ts";
export * as raknet from "./protocols/raknet/mod.ts";
export * as query from "./protocols/query/mod.ts";
