/** Tests that take too long for every run: `deno task test:long` runs them. */

const ENV = "BLOCKSWEEP_LONG";
const { state } = await Deno.permissions.query({ name: "env", variable: ENV });
const isRun = state === "granted" && Deno.env.get(ENV) !== undefined;

/** What registers a test: `Deno.test`, or `longTest()`. */
export type Register = (name: string, fn: () => void | Promise<void>) => void;

/**
 * Registers a test that only `deno task test:long` runs. Otherwise the test is ignored, and its name gives
 * the reason.
 */
export const longTest: Register = (name, fn) =>
  Deno.test({ name: `${name} (deno task test:long)`, ignore: !isRun, fn });
