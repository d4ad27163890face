/**
 * Parameters of URLs: how their texts are read and written.
 *
 * @module
 */
import { formed, type ValueForm, wholeNumber } from "../../core/checked_values.ts";
import { DAY_MS } from "../../core/quantities.ts";

/** A parameter of a URL. */
export interface Parameter<Value> extends Omit<ValueForm<unknown>, "ofJson"> {
  /** What the parameter is, one sentence. */
  readonly description: string;
  /** Whether a URL may contain the parameter several times; the value is then a list. */
  readonly repeats: boolean;
  /** The text of a value in URLs. Default: that of `String()`. */
  write?(value: Value): string;
}

/** The parameters of a URL by their names. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** The values of parameters. A parameter that the URL does not contain is `undefined`. */
export type ValuesOf<Table extends Parameters> = {
  readonly [Name in keyof Table]?: Table[Name] extends Parameter<infer Value> ? Value : never;
};

/** Maximum length of a text in a URL, in code points. */
export const MAX_TEXT = 100;

/** Maximum number of values of one parameter. */
export const MAX_VALUES = 30;

/** A request that cannot be answered, because of one of its parameters. */
export class ParameterError extends Error {
  /**
   * @param message What is wrong, with the name of the parameter.
   * @param wanted What is expected.
   */
  constructor(message: string, readonly wanted: string) {
    super(message);
    this.name = "ParameterError";
  }
}

/** A text of 1 to {@linkcode MAX_TEXT} code points. */
export const TEXT: ValueForm<string> = formed(
  `a text of 1 to ${MAX_TEXT} characters`,
  (text) => text,
  { type: "string", minLength: 1, maxLength: MAX_TEXT },
);

/** A form, and how values are written in URLs. */
export interface WrittenForm<Value> extends ValueForm<Value> {
  write?(value: Value): string;
}

/** A parameter whose value has a form. Longer texts than {@linkcode TEXT} are not valid. */
export function parameter<Value>(
  description: string,
  { wanted, schema, read, write }: WrittenForm<Value>,
): Parameter<Value> {
  return {
    ...{ description, wanted, schema, write, repeats: false },
    read: (text) => isShort(text) ? read(text) : undefined,
  };
}

/** Whether a text is short enough, and is valid Unicode. */
function isShort(text: string): boolean {
  return text.length <= 2 * MAX_TEXT && [...text].length <= MAX_TEXT && text.isWellFormed();
}

/** Maximum of a time that a `Date` can represent, Unix milliseconds. */
export const MAX_TIME = 8.64e15;
const MINUTE_MS = 60_000;
/** The units of ages, the largest first, and from how many an age is written in them. */
const AGE_UNITS = [["d", DAY_MS, 2], ["h", 60 * MINUTE_MS, 1], ["m", MINUTE_MS, 1]] as const;

/** An age in a filter, as a time below 0: that long before now. */
export const PAST_AGE: WrittenForm<number> = {
  ...formed(
    "an age such as 90m, 24h or 7d",
    (text) => {
      const [, count, letter] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
      const unit = AGE_UNITS.find(([name]) => name === letter);
      return unit && -Number(count) * unit[1];
    },
    { type: "string", pattern: "^[1-9][0-9]{0,5}[mhd]$" },
  ),
  write: (age) => {
    const [name, size] = AGE_UNITS.find(([, size, least]) =>
      age % size === 0 && -age >= least * size
    )!;
    return `${-age / size}${name}`;
  },
};

/** An age, or a point in time, Unix milliseconds. */
export const PAST_AGE_OR_TIME: WrittenForm<number> = {
  ...formed<number>(
    `${PAST_AGE.wanted}, or Unix milliseconds`,
    (text) => PAST_AGE.read(text) ?? wholeNumber(0, MAX_TIME).read(text),
    { type: ["integer", "string"], minimum: 0, maximum: MAX_TIME, maxLength: 16 },
  ),
  write: (time) => time < 0 ? PAST_AGE.write!(time) : String(time),
};
/** A parameter that a URL may contain several times, whose values have a form. */
export function several<Value>(
  description: string,
  form: ValueForm<Value>,
): Parameter<readonly Value[]> {
  const { wanted, schema, read } = parameter(description, form);
  return {
    description,
    wanted: `${wanted}, at most ${MAX_VALUES} times`,
    schema: { type: "array", items: schema, maxItems: MAX_VALUES },
    repeats: true,
    read,
  };
}

/**
 * Reads the parameters of a URL. Parameters without a value are ignored: forms of pages send empty fields.
 * Several values of one parameter are sorted, and each is returned once.
 *
 * @param ignoresUnknown Whether parameters that the table does not have are ignored, such as those that sites
 * append to links. Default: no.
 * @throws ParameterError for a parameter that is unknown, not valid, or in the URL too often.
 */
export function readParameters<const Table extends Parameters>(
  query: URLSearchParams,
  table: Table,
  ignoresUnknown = false,
): ValuesOf<Table> {
  const values: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    if (!Object.hasOwn(table, name)) {
      if (ignoresUnknown) continue;
      throw new ParameterError(
        `Unknown parameter "${shortened(name)}"`,
        `one of ${Object.keys(table).join(", ") || "no parameters"}`,
      );
    }
    const texts = query.getAll(name).filter((text) => text !== "");
    if (texts.length > 0) values[name] = readValues(name, texts, table[name]);
  }
  return values as ValuesOf<Table>;
}

function readValues(name: string, texts: readonly string[], parameter: Parameter<unknown>) {
  if (texts.length > (parameter.repeats ? MAX_VALUES : 1)) {
    throw new ParameterError(
      `Cannot use parameter "${name}" ${texts.length} times`,
      parameter.repeats ? `at most ${MAX_VALUES} values` : "one value",
    );
  }
  const values = texts.map((text) => readOne(name, text, parameter));
  return parameter.repeats ? [...new Set(values)].sort(inOrder) : values[0];
}

/**
 * Reads the text of one parameter.
 *
 * @throws ParameterError if it is not valid.
 */
export function readOne<Value>(
  name: string,
  text: string,
  { read, wanted }: Parameter<Value>,
): Value {
  const value = read(text);
  if (value !== undefined) return value as Value;
  throw new ParameterError(`Cannot use ${name}=${shortened(text)}`, wanted);
}

/**
 * Checks two bounds.
 *
 * @throws ParameterError if the lower one is above the upper one.
 */
export function checkBounds(
  [lower, from]: readonly [name: string, value: number | undefined],
  [upper, to]: readonly [name: string, value: number | undefined],
): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new ParameterError(
    `Cannot use ${lower}=${from}: it is more than ${upper}=${to}`,
    `a ${lower} that is not above ${upper}`,
  );
}

/** Compares numbers, and texts by their code units. */
function inOrder(a: unknown, b: unknown): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a) < String(b)
    ? -1
    : Number(String(a) > String(b));
}

/** The first characters of a text for an error. */
export function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= 40 ? text : `${characters.slice(0, 40).join("")}…`;
}

/** Writes values as the query of a URL, without `?`, in the order of the table. */
export function writeParameters<Table extends Parameters>(
  values: ValuesOf<Table>,
  table: Table,
): string {
  const query = new URLSearchParams();
  for (const name of Object.keys(table)) {
    const value = values[name];
    if (value === undefined) continue;
    const list = Array.isArray(value) ? [...new Set(value)].sort(inOrder) : [value];
    const { write = String } = table[name];
    for (const one of list) query.append(name, write(one));
  }
  return query.toString();
}
