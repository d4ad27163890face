/**
 * The JSON Schema of the record, derived from FIELDS.
 *
 * @module
 */
import { type Field, FIELDS } from "./record.ts";

/** A JSON Schema as an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const TEXT = { type: "string" };

const TYPES: Readonly<Record<Field["type"], JsonSchema>> = {
  text: TEXT,
  integer: { type: "integer" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  names: { type: "array", items: TEXT },
  plugins: {
    type: "array",
    items: {
      type: "object",
      properties: { name: TEXT, version: { type: ["string", "null"] } },
      required: ["name", "version"],
    },
  },
  facts: { type: "object", additionalProperties: { type: "object" } },
};

/**
 * The JSON Schema (2020-12) of one NDJSON row.
 *
 * @param protocols Protocol names that rows may contain, in order of rank. The description of the
 * column `protocol` lists them.
 *
 * @example
 * ```ts
 * import { recordSchema } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(recordSchema().properties, { ...recordSchema().properties as object });
 * assertEquals(recordSchema().additionalProperties, false);
 * ```
 */
export function recordSchema(protocols: readonly string[] = []): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "blocksweep server record",
    type: "object",
    properties: {
      schema: { const: 1, description: "version of this schema" },
      ...Object.fromEntries(FIELDS.map((field) => [field.name, fieldSchema(field, protocols)])),
    },
    required: ["schema", ...FIELDS.map(({ name }) => name)],
    additionalProperties: false,
  };
}

/** The JSON Schema of the value of a field. */
export function fieldSchema(
  { name, type, nullable, meaning }: Field,
  protocols: readonly string[] = [],
): JsonSchema {
  const schema = TYPES[type];
  const isListed = name === "protocol" && protocols.length > 0;
  return {
    ...schema,
    type: nullable ? [schema.type, "null"] : schema.type,
    description: isListed ? `${meaning}: ${protocols.join(", ")}` : meaning,
  };
}
