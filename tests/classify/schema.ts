/** A validator for the part of JSON Schema that data/software.schema.json and the rows' schema use. */

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** The faults of a value, one line each. */
export function violations(value: unknown, schema: Schema, root = schema, at = "$"): string[] {
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.replace("#/$defs/", "");
    return violations(value, (root.$defs as Record<string, Schema>)[name], root, at);
  }
  const faults: string[] = [];
  const want = (holds: boolean, what: string) => holds || faults.push(`${at}: ${what}`);
  const types = [schema.type ?? typeOf(value)].flat();
  const isInteger = types.includes("integer") && Number.isInteger(value);
  want(isInteger || types.includes(typeOf(value)), "type");
  if (Array.isArray(schema.enum)) want(schema.enum.includes(value), `not one of ${schema.enum}`);
  if (typeof value === "string") {
    want(value.length >= Number(schema.minLength ?? 0), "too short");
    want(new RegExp(String(schema.pattern ?? "")).test(value), `not ${schema.pattern}`);
  } else if (Array.isArray(value)) {
    want(value.length >= Number(schema.minItems ?? 0), "too few items");
    const items = (schema.items ?? {}) as Schema;
    faults.push(...value.flatMap((item, i) => violations(item, items, root, `${at}[${i}]`)));
  } else if (typeof value === "object" && value !== null) {
    faults.push(...objectViolations(value as Record<string, unknown>, schema, root, at));
  }
  return faults;
}

function objectViolations(
  value: Record<string, unknown>,
  schema: Schema,
  root: Schema,
  at: string,
): string[] {
  const keys = Object.keys(value);
  const known = (schema.properties ?? {}) as Record<string, Schema>;
  const missing = ((schema.required ?? []) as string[]).filter((key) => !keys.includes(key));
  const unknown = schema.additionalProperties === false
    ? keys.filter((key) => !Object.hasOwn(known, key))
    : [];
  const count = keys.length >= Number(schema.minProperties ?? 0) &&
    keys.length <= Number(schema.maxProperties ?? Infinity);
  return [
    ...missing.map((key) => `${at}: lacks ${key}`),
    ...unknown.map((key) => `${at}: unknown ${key}`),
    ...(count ? [] : [`${at}: ${keys.length} keys`]),
    ...keys.filter((key) => Object.hasOwn(known, key))
      .flatMap((key) => violations(value[key], known[key], root, `${at}.${key}`)),
  ];
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}
