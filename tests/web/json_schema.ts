/** A check of values by the parts of JSON Schema (2020-12) that the API uses. Other parts are an error. */

type Schema = Readonly<Record<string, unknown>>;

const KNOWN = new Set([
  ...["type", "properties", "required", "additionalProperties", "items", "anyOf", "const", "enum"],
  ...["$ref", "minimum", "maximum", "minLength", "maxLength", "maxItems", "pattern"],
  ...["description"],
]);

/**
 * What is wrong with a value by a schema; empty: nothing.
 *
 * @param document The document to which references point.
 */
export function schemaFaults(
  value: unknown,
  schema: Schema,
  document: Schema,
  path = "",
): string[] {
  const unknown = Object.keys(schema).filter((name) => !KNOWN.has(name));
  if (unknown.length > 0) return [`${path}: the schema has ${unknown}`];
  if ("$ref" in schema) return schemaFaults(value, resolve(schema, document), document, path);
  if ("anyOf" in schema) {
    const all = (schema.anyOf as Schema[]).map((one) => schemaFaults(value, one, document, path));
    return all.some((faults) => faults.length === 0) ? [] : all.flat();
  }
  if ("const" in schema && schema.const !== value) return [`${path}: ${value} is not the constant`];
  if ("enum" in schema && !(schema.enum as unknown[]).includes(value)) {
    return [`${path}: ${value} is not in the list`];
  }
  const types = [schema.type ?? []].flat() as string[];
  if (types.length > 0 && !types.some((type) => isOf(value, type))) {
    return [`${path}: ${JSON.stringify(value)} is no ${types}`];
  }
  return [...rangeFaults(value, schema, path), ...partFaults(value, schema, document, path)];
}

/** The schema to which a reference points. */
export function resolve({ $ref }: Schema, document: Schema): Schema {
  const found = String($ref).slice(2).split("/")
    .reduce<unknown>((at, name) => (at as Schema | undefined)?.[name], document);
  if (found === undefined) throw new Error(`${$ref} leads nowhere`);
  return found as Schema;
}

function isOf(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") {
    return typeof value === "object" && value !== null && !Array.isArray(value);
  }
  const kind: string = typeof value;
  if (["string", "number", "boolean"].includes(type)) return kind === type;
  throw new Error(`there is no type ${type}`);
}

function rangeFaults(value: unknown, schema: Schema, path: string): string[] {
  const faults: string[] = [];
  const check = (holds: boolean, name: string) => {
    if (!holds) faults.push(`${path}: ${JSON.stringify(value)} breaks ${name}`);
  };
  if (typeof value === "number") {
    check(value >= Number(schema.minimum ?? -Infinity), "minimum");
    check(value <= Number(schema.maximum ?? Infinity), "maximum");
  }
  if (typeof value === "string") {
    check([...value].length >= Number(schema.minLength ?? 0), "minLength");
    check([...value].length <= Number(schema.maxLength ?? Infinity), "maxLength");
    check(new RegExp(String(schema.pattern ?? "")).test(value), "pattern");
  }
  return faults;
}

function partFaults(value: unknown, schema: Schema, document: Schema, path: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, i) =>
      schemaFaults(one, (schema.items ?? {}) as Schema, document, `${path}[${i}]`)
    );
  }
  if (typeof value !== "object" || value === null) return [];
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const missing = ((schema.required ?? []) as string[]).filter((name) =>
    !Object.hasOwn(value, name)
  )
    .map((name) => `${path}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, one]) => {
    if (Object.hasOwn(properties, name)) {
      return schemaFaults(one, properties[name], document, `${path}.${name}`);
    }
    const rest = schema.additionalProperties ?? {};
    return rest === false
      ? [`${path}.${name} is not described`]
      : schemaFaults(one, rest as Schema, document, `${path}.${name}`);
  });
  return [...missing, ...wrong];
}
