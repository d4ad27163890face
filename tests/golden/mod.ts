/** All golden messages, by protocol. */
import { type Golden, golden } from "./golden.ts";
import * as FILES from "./index.ts";

export * from "./golden.ts";

/** The golden messages of a protocol, which are in one folder. */
export function goldenOf(protocol: string): Golden[] {
  return Object.entries(FILES).filter(([path]) => path.startsWith(`${protocol}/`))
    .map(([path, content]) => golden(path.slice(protocol.length + 1, -".json".length), content));
}

/** The folders of golden messages, one per protocol. */
export const GOLDEN_PROTOCOLS: readonly string[] = [
  ...new Set(Object.keys(FILES).map((path) => path.split("/")[0])),
];

export const GOLDEN: readonly Golden[] = GOLDEN_PROTOCOLS.flatMap(goldenOf);
