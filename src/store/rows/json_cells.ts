/**
 * Reads JSON columns of servers. Another program may have written a value of another form.
 *
 * @module
 */
import { FieldError, parseJson } from "../../core/checked_values.ts";
import type { FieldType } from "../../core/record.ts";
import { inKeyOrder } from "./stored_values.ts";

/** A cell that another program wrote, with a value that a record cannot have. */
export interface BrokenCell {
  /** `servers.key` of the row. */
  readonly key: string;
  /** The name of the column. */
  readonly column: string;
}

/** The types of fields that are JSON columns. */
export type JsonType = Extract<FieldType, "names" | "plugins" | "facts">;

export function isJsonType(type: FieldType): type is JsonType {
  return type === "names" || type === "plugins" || type === "facts";
}

/**
 * The value of a JSON column; `undefined`: the text is not JSON, has another form, or is nested too
 * deeply.
 */
export function readJson(text: string, type: JsonType): unknown {
  let value: unknown;
  try {
    value = parseJson(text);
    if (type === "facts") return isObject(value) ? inKeyOrder(value) : undefined;
  } catch (error) {
    if (error instanceof FieldError) return undefined;
    throw error;
  }
  if (!Array.isArray(value)) return undefined;
  return value.every(type === "names" ? isText : isPlugin) ? value : undefined;
}

/** The list of texts in a JSON text; `null`: there is no text, or it is not such a list. */
export function readTexts(text: string | null): string[] | null {
  return text === null ? null : readJson(text, "names") as string[] | undefined ?? null;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isPlugin(value: unknown): boolean {
  return isObject(value) && isText(value.name) &&
    (value.version === null || isText(value.version));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
