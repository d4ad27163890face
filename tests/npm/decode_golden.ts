/** A program for every runtime: decodes the golden messages, encodes them, and prints how many. */
// deno-lint-ignore-file no-console -- it has no permission to write
import { deepStrictEqual } from "node:assert";
import { GOLDEN, type Golden } from "../golden/mod.ts";
import { DECODERS, toJson } from "../protocols/decoders/mod.ts";

/** Throws if a golden message has another value than its file names. */
function check({ decoder: name, bytes, throws, encodes, value, statement }: Golden): void {
  const decoder = DECODERS[name];
  let decoded: ReturnType<typeof decoder.decode>;
  try {
    decoded = decoder.decode(bytes);
  } catch (error) {
    deepStrictEqual(`${(error as Error).name}: ${(error as Error).message}`, throws);
    return;
  }
  deepStrictEqual([toJson(decoded), throws], [value, undefined]);
  if (decoded !== undefined && decoder.statement) {
    deepStrictEqual(toJson(decoder.statement(decoded)), statement);
  }
  if (encodes) deepStrictEqual([...decoder.encode(decoded)], [...bytes]);
}

GOLDEN.forEach(check);
console.log(GOLDEN.length);
