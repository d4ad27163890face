/**
 * The inputs that once crashed a decoder or a reader, one file each. `deno task fuzz` adds files;
 * the tests run them all.
 */
import type { Crash } from "./hammer.ts";

const FOLDER = new URL("corpus/", import.meta.url);
/** Bytes in one line of a file. */
const LINE = 32;

/** An input that crashed. */
export interface KnownCrash {
  /** The name of the file. */
  readonly file: string;
  /** The name of the decoder or reader. */
  readonly subject: string;
  /** What was wrong. */
  readonly about: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** All inputs that crashed. */
export async function knownCrashes(): Promise<KnownCrash[]> {
  const known: KnownCrash[] = [];
  await Deno.mkdir(FOLDER, { recursive: true }); // a clone without such inputs has no folder
  for await (const { name } of Deno.readDir(FOLDER)) {
    const { bytes, ...rest } = JSON.parse(await Deno.readTextFile(new URL(name, FOLDER)));
    known.push({
      ...rest,
      file: name,
      bytes: Uint8Array.fromHex(bytes.join("").replaceAll(" ", "")),
    });
  }
  return known.sort((a, b) => a.file < b.file ? -1 : 1);
}

/** Writes an input that crashes to a file, and returns the file's name. */
export async function writeCrash({ subject, error, bytes }: Crash): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.slice()));
  const file = `${subject.name.replace(":", "-")}-${digest.toHex().slice(0, 8)}.json`;
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE) lines.push(bytes.subarray(at, at + LINE).toHex());
  const content = { subject: subject.name, about: error, bytes: lines };
  await Deno.mkdir(FOLDER, { recursive: true });
  await Deno.writeTextFile(new URL(file, FOLDER), `${JSON.stringify(content, null, 2)}\n`);
  return file;
}
