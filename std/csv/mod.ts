// @ts-types="./types.d.ts"
export { parse } from "npm:deno-std@1.4.0/csv/parse.js";
export { stringify } from "npm:deno-std@1.4.0/csv/stringify.js";
