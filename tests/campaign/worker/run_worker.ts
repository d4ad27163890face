/** A worker as a process of its own: `run_worker.ts OPTION=VALUE...`. It needs only --allow-net. */
import { onInterrupt } from "../../../src/app/interrupt_signals.ts";
import { work } from "../../../src/campaign/worker/work.ts";
import { InputError } from "../../../src/core/errors.ts";
import { reportLine } from "../../../src/cli/term/console.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { PROGRAM } from "./program_version.ts";

const abandon = new AbortController();
using interrupt = onInterrupt(() => reportLine("ends"), false, () => abandon.abort());
const given = new Map(Deno.args.map((arg) => {
  const [name, ...value] = arg.split("=");
  return [name, [value.join("=")]];
}));
try {
  await work({ words: [], given }, {
    context: {
      allProtocols: PROTOCOLS,
      nameOf: (name) => `--${name}`,
      program: PROGRAM,
      warn: reportLine,
      note: reportLine,
    },
    signal: interrupt.signal,
    abandon: abandon.signal,
  });
  reportLine(`ended, ${Math.round(Deno.memoryUsage().rss / 1e6)} MB`);
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  reportLine(error.message);
  Deno.exitCode = 2;
}
