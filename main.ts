/**
 * The program.
 *
 * @module
 */
import { outliveHangup } from "./src/app/interrupt_signals.ts";
import { main } from "./src/cli/mod.ts";

if (import.meta.main) {
  outliveHangup();
  Deno.exit(await main(Deno.args));
}
