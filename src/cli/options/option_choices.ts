/**
 * The values of options that take one of a list, or a file: for completions.
 *
 * @module
 */
import { SOFTWARE } from "../../fleet/simulate/software.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { FIELDS } from "../../core/record.ts";
import { SERVER_ORDERS, STORED_FIELDS } from "../../store/server_queries.ts";
import { ENGINE_CHOICES } from "../../app/engines/choose_engine.ts";
import type { Command, Option } from "./option_table.ts";
import { OUTPUT_FORMAT_NAMES } from "../../app/outputs/open_outputs.ts";
import { ROW_ORDERS } from "../../app/outputs/sorting_sink.ts";

/** What an option takes. */
export type Choice =
  /** One of these words. */
  | { readonly kind: "one"; readonly words: readonly string[] }
  /** Some of these words, with commas between them. */
  | { readonly kind: "some"; readonly words: readonly string[] }
  /** A file. */
  | { readonly kind: "file" }
  /** Something that nobody can know, or nothing. */
  | { readonly kind: "other" };

/** What an option of a command takes. */
export function choiceOf(
  command: Command,
  { name, value }: Option,
  allProtocols: readonly Protocol[],
): Choice {
  if (value === "FILE" || name === "output") return { kind: "file" };
  const some = (words: readonly string[]) => ({ kind: "some", words } as const);
  const one = (words: readonly string[]) => ({ kind: "one", words } as const);
  const choices: Readonly<Record<string, Choice>> = {
    "protocol LIST": some(allProtocols.map((protocol) => protocol.name)),
    "fields LIST": some((command === "scan" ? FIELDS : STORED_FIELDS).map((field) => field.name)),
    "software LIST": some(SOFTWARE.map((software) => software.name)),
    "engine NAME": one(ENGINE_CHOICES),
    "format NAME": one(OUTPUT_FORMAT_NAMES),
    "sort NAME": one(Object.keys(command === "scan" ? ROW_ORDERS : SERVER_ORDERS)),
    "retries 0-3": one(["0", "1", "2", "3"]),
  };
  return choices[`${name} ${value}`] ?? { kind: "other" };
}

/** What a command takes besides options. */
export function wordsOf(command: Command): Choice {
  if (command === "completions") return { kind: "one", words: ["bash", "zsh", "fish"] };
  const files = ["watch", "servers", "history", "export", "import", "prune"].includes(command);
  return { kind: files ? "file" : "other" };
}
