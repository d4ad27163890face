// @ts-types="./types.d.ts"
export * from "npm:deno-std@1.4.0/assert/mod.js";
