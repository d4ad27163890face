/** The program with invented protocols, passed to its command line as an argument. */
import { main } from "../../../src/cli/mod.ts";
import { WITH_INVENTED } from "./list.ts";

if (import.meta.main) Deno.exit(await main(Deno.args, WITH_INVENTED));
