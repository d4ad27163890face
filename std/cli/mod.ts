// Only parseArgs: the package's cli/mod.js does not load.
// @ts-types="./types.d.ts"
export * from "npm:deno-std@1.4.0/cli/parse_args.js";
