/** What the fuzzer tests: decoders and readers, and what each may do. */
import { FieldError } from "../../src/core/checked_values.ts";
import { InputError } from "../../src/core/errors.ts";
import { Malformed, Truncated } from "../../src/core/bytes.ts";

/** The error of a result that breaks a rule. */
export class BrokenRule extends Error {}

/**
 * What became of an input: `+` and a short description if it was accepted, `-` and the reason if it
 * was refused. Inputs with a new description are the start of further inputs.
 */
export type Verdict = string;

/** A decoder or a reader of bytes that others have written. */
export interface Subject {
  readonly name: string;
  /** Who writes its bytes. */
  readonly from: string;
  /** Valid and invalid inputs from which further ones are made. */
  readonly seeds: readonly Uint8Array[];
  /** Tests an input. Any error that it throws is a crash. */
  check(bytes: Uint8Array<ArrayBuffer>): Verdict | Promise<Verdict>;
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** The errors that readers of files and messages may throw. */
const USUAL: readonly ErrorClass[] = [InputError, FieldError];

/** The verdict of an error that a reader may throw. Other errors are thrown again. */
export function refusal(error: unknown, allowed: readonly ErrorClass[] = USUAL): Verdict {
  if (!allowed.some((one) => error instanceof one)) throw error;
  const { message } = error as Error;
  const reason = error instanceof Truncated || error instanceof Malformed ? error.what : message;
  if (error instanceof SyntaxError) return "-syntax"; // its message quotes the text
  return `-${reason.slice(0, 150).replace(/"[^"]*"?|[^a-z ]+/gi, "").slice(0, 60)}`;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Bytes as texts, for the starts of inputs. */
export function seedsOf(...texts: readonly string[]): Uint8Array[] {
  return texts.map((text) => encoder.encode(text));
}

/** A reader of text. It accepts what `read` returns a value for, and may throw the allowed errors. */
export function textReader(
  name: string,
  from: string,
  texts: readonly string[],
  read: (text: string) => unknown,
  ...allowed: readonly ErrorClass[]
): Subject {
  return {
    name,
    from,
    seeds: seedsOf(...texts),
    check(bytes) {
      try {
        const value = read(decoder.decode(bytes));
        return value === undefined ? "-" : `+${typeof value === "string" ? value : ""}`;
      } catch (error) {
        return refusal(error, allowed.length > 0 ? allowed : USUAL);
      }
    },
  };
}

/** Requires that a value that was written and read again is the same. */
export function requireSame(before: unknown, after: unknown, what: string): void {
  const [one, other] = [before, after].map((value) => JSON.stringify(value, plain));
  if (one !== other) throw new BrokenRule(`${what}: ${one} became ${other}`);
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value === Infinity) return "Infinity";
  return value instanceof Map ? [...value] : value;
}

/** Control characters and characters that reorder a line or end it in some programs. */
// deno-lint-ignore no-control-regex
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** Requires that an escaped text contains no character that a terminal would obey. */
export function requireHarmless(text: string, what: string): void {
  const found = HARMFUL.exec(text)?.[0];
  if (found === undefined) return;
  throw new BrokenRule(`${what} contains U+${found.charCodeAt(0).toString(16)}`);
}
